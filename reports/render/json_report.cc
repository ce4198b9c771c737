#include "reports/render/forms.h"

#include <nlohmann/json.hpp>

#include "harness/describe/json_archives.h"
#include "harness/describe/report_archive.h"
#include "harness/json/json_text.h"

namespace qconform::report {

std::string to_json(const Report& report) {
  return print_json(write_document(description_of(report)));
}

}  // namespace qconform::report
