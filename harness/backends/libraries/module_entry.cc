// Part of each module: QCONFORM_MODULE is the name of the adapter.
#include "harness/backends/libraries/libraries.h"
#include "harness/core/version.h"

namespace qconform::libraries {

backend::Library QCONFORM_MODULE();

}  // namespace qconform::libraries

extern "C" const qconform::libraries::ModuleEntry qconform_adapter_module;  // a constant would be local otherwise
const qconform::libraries::ModuleEntry qconform_adapter_module{qconform::kVersion,
                                                               qconform::libraries::QCONFORM_MODULE};
