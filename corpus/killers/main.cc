// qconform_killers FILE: solves for the killers, and writes them as a file of cases.
#include <fmt/format.h>

#include "corpus/killers/killers.h"
#include "harness/backends/libraries/libraries.h"
#include "harness/backends/library.h"
#include "harness/forms/json/case_json.h"

namespace qconform::killers {
namespace {

Result<void> write_to(const char* file) {
  QCONFORM_ASSIGN(const auto cases, solve());
  QCONFORM_TRY(save_cases(file, cases));
  QCONFORM_ASSIGN(const auto alive, survivors(file));
  for (const std::string& name : alive) fmt::print("survives: {}\n", name);
  fmt::print("{} cases\n", cases.size());
  return {};
}

}  // namespace
}  // namespace qconform::killers

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: qconform_killers FILE\n");
    return 2;
  }
  qconform::backend::offer_libraries(qconform::libraries::libraries());
  const auto written = qconform::killers::write_to(argv[1]);
  if (!written) fmt::print(stderr, "qconform_killers: {}\n", written.error().text());
  return written ? 0 : 2;
}
