// A graph on the whole path that a case takes through qconform, on backends that are right and on backends that answer
// wrongly: judged, explained, shrunk, described, exported, and told in reports and issue pages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/model/draws/draws.h"

namespace qconform::fuzz {

/// A backend of this process whose answers are wrong in a way that `seed` chooses: other values, NaN, infinities, other
/// types, shapes or counts of outputs, none, refusals, a pair of defect models. They depend on the case alone, but for
/// one way in sixteen, where they change from run to run.
[[nodiscard]] std::unique_ptr<Backend> wrong_backend(std::uint64_t seed, std::string name);

/// Cases by what became of them: a path that no case takes is not tested.
struct Walked {
  std::uint64_t cases = 0;
  std::uint64_t wired = 0;        ///< cases whose names fit together
  std::uint64_t in_contract = 0;  ///< cases that are valid, or implementation-defined
  std::uint64_t failing = 0;      ///< cases that the wrong backend fails
  std::uint64_t shrunk = 0;
  std::uint64_t explained = 0;
  std::uint64_t mapped = 0;    ///< cases with an element map
  std::uint64_t findings = 0;  ///< findings in reports
};

class GraphWalk {
 public:
  /// Files of cases are written below `folder`, which exists; where it is empty, none are.
  explicit GraphWalk(std::filesystem::path folder);
  ~GraphWalk();
  GraphWalk(const GraphWalk&) = delete;
  GraphWalk& operator=(const GraphWalk&) = delete;

  /// Takes one case along the path. The wrong backend, and which of the slower steps are taken, follow from `seed`.
  /// Returns what must not be, or an empty text: a right backend that fails, a tier that lacks what a stricter one
  /// holds, a form that does not read back, a refusal without field and reason, a failing verdict without a detail, an
  /// index outside its output.
  [[nodiscard]] std::string take(const Case& test_case, std::uint64_t seed);

  /// Runs the cases as a suite on `backends` wrong backends; diagnoses, shrinks and maps the findings; writes the
  /// report in every form, and reads it. Returns what must not be, as take() does.
  [[nodiscard]] std::string report(std::vector<Case> cases, std::uint64_t seed);

  [[nodiscard]] const Walked& walked() const { return walked_; }

 private:
  class Taking;

  std::filesystem::path folder_;
  std::vector<std::unique_ptr<Backend>> right_;
  Walked walked_;
};

// Graphs as no suite draws them: what a case of several nodes may be when a file or a user made it.

/// Changes one to four things of a graph: types, shapes, empty dimensions, values, edges, attributes, operators and
/// their versions, outputs, the order of nodes. About half of the results still fit together (check_wiring()), and some
/// of these are within the contract. Every tensor has a known type, and as many bytes as type and shape ask for; every
/// tensor has a name.
void damage_graph(Case& graph, Rng& rng);

}  // namespace qconform::fuzz
