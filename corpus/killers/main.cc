// qconform_killers FILE [SEED]: solves for the killers, and writes them as a file of cases.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "corpus/killers/killers.h"
#include "harness/backends/libraries/libraries.h"
#include "harness/backends/library.h"
#include "harness/forms/json/case_json.h"

int main(int argc, char** argv) {
  qconform::backend::offer_libraries(qconform::libraries::libraries());
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (arguments.empty() || arguments.size() > 2) {
    fmt::print(stderr, "usage: qconform_killers FILE [SEED]\n");
    return 2;
  }
  const auto cases = qconform::killers::solve(arguments.size() == 2 ? std::stoull(arguments[1]) : 1);
  if (!cases) {
    fmt::print(stderr, "qconform_killers: {}\n", cases.error().text());
    return 2;
  }
  if (const auto saved = qconform::save_cases(arguments[0], *cases); !saved) {
    fmt::print(stderr, "qconform_killers: {}\n", saved.error().text());
    return 2;
  }
  for (const std::string& name : qconform::killers::survivors(*cases)) fmt::print("survives: {}\n", name);
  fmt::print("{} cases\n", cases->size());
}
