// qconform_corpus_lint: what run() of lint.h says.
#include <iostream>
#include <vector>

#include "corpus/lint/lint.h"
#include "harness/backends/libraries/libraries.h"
#include "harness/backends/library.h"

int main(int argc, char** argv) {
  qconform::backend::offer_libraries(qconform::libraries::libraries());
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return qconform::lint::run(arguments, std::cout, std::cerr);
}
