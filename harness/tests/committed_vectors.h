// The hand-picked vectors of the committed corpus, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "harness/suites/stored_cases.h"

namespace qconform {

[[nodiscard]] inline std::vector<Case> committed_vectors() {
  std::vector<Case> cases;
  Result<std::unique_ptr<CorpusSuite>> source = CorpusSuite::open("corpus", QCONFORM_CORPUS_DIRECTORY, "killers");
  if (!source) ADD_FAILURE() << source.error().text();
  while (source) {
    Result<std::optional<Case>> next = (*source)->next();
    if (!next) ADD_FAILURE() << next.error().text();
    if (!next || !*next) break;
    cases.push_back(std::move(**next));
  }
  return cases;
}

[[nodiscard]] inline std::string name_of_vector(const Case& vector) {
  return vector.provenance.source + " " + vector.id;
}

[[nodiscard]] inline bool has_tag(const Case& vector, std::string_view tag) {
  return std::find(vector.tags.begin(), vector.tags.end(), tag) != vector.tags.end();
}

}  // namespace qconform
