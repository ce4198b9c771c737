// An adapter as a module, for module_test.cc. QCONFORM_SAMPLE_ENTRY: its entry tells another version.
#include "harness/backends/libraries/libraries.h"

namespace qconform::libraries {

backend::Library sample() {
  backend::Library library;
  library.name = "sample";
  library.state = [] { return backend::LibraryState{"7.1", {}}; };
  return library;
}

}  // namespace qconform::libraries

#ifdef QCONFORM_SAMPLE_ENTRY
extern "C" const qconform::libraries::ModuleEntry qconform_adapter_module;
const qconform::libraries::ModuleEntry qconform_adapter_module{"0.0.9", qconform::libraries::sample};
#endif
