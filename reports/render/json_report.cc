#include "reports/render/forms.h"

#include <nlohmann/json.hpp>

#include "harness/forms/archive/json_archives.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/forms/json/json_text.h"

namespace qconform::report {

std::string to_json(const Report& report) {
  return print_json(write_document(description_of(report)));
}

}  // namespace qconform::report
