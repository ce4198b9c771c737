// How a backend computes: of the variants that are known, which one its outputs are consistent with.
//
// Every combination of variants of an experiment (identify_variants.h) is a candidate. Cases are drawn on which
// candidates disagree; the backend's output eliminates those that predicted another value of any element. A candidate
// that is left when no case tells the rest apart any more has survived, with the number of elements that speak for it.
// If no candidate is left, that is an answer too: none of the known variants.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/model/defects/identify_variants.h"

namespace qconform::diagnose {

/// The first case that a candidate predicted wrongly.
struct Refutation {
  Case test_case;
  std::int64_t element = 0;  ///< flat index
  std::string got;
  std::string predicted;
};

/// A variant for each choice of an experiment.
struct Candidate {
  std::vector<const Variant*> variants;
  /// Elements, and cases with such, on which some candidates disagreed and this one was right.
  std::uint64_t confirmed_elements = 0;
  std::uint64_t confirmed_cases = 0;
  std::uint64_t refuted_elements = 0;  ///< elements that it predicted wrongly
  std::uint64_t refuted_cases = 0;
  std::optional<Refutation> refutation;

  [[nodiscard]] bool survives() const { return refuted_elements == 0; }
};

/// The result of one experiment, for all nodes or for some.
struct Answer {
  std::string_view op_type;
  std::vector<const Choice*> choices;
  std::vector<Form> forms;        ///< forms that the backend takes; without any, nothing could be asked
  std::vector<KindPattern> only;  ///< kinds of nodes that the answer holds for, where others have another; else empty
  std::string holds_for;          ///< `only` in words: "all but depthwise"
  std::string narrowed;           ///< parts left out of the forms for any candidate to fit; may be empty
  std::string declined;           ///< the backend's reason, where it takes no form
  std::uint64_t cases = 0;        ///< cases that the backend computed
  std::uint64_t elements = 0;
  std::vector<Candidate> candidates;  ///< always in one order for an experiment

  [[nodiscard]] std::vector<const Candidate*> survivors() const;
  /// The variant that leaves nothing of the choice in that position (Variant::settles); null where there is none.
  [[nodiscard]] const Variant* settling(const Candidate& candidate, std::size_t choice) const;
  /// The eliminated candidate that the fewest elements refute; null when none is eliminated.
  [[nodiscard]] const Candidate* nearest_eliminated() const;
};

struct Identification {
  BackendInfo backend;
  std::uint64_t seed = 0;
  std::uint64_t cases = 0;  ///< cases that the backend was given, refused ones included
  std::vector<Answer> answers;
};

struct IdentifyOptions {
  std::uint64_t seed = 1;
  /// Experiments that are performed; empty: all.
  std::function<bool(const Experiment&)> wants = {};
  std::function<void(std::uint64_t cases)> progress = {};  ///< called after every case; may be empty
};

[[nodiscard]] Identification identify(Backend& backend, const IdentifyOptions& options);
/// Identifies the arithmetic of whatever `run` runs and `info` describes.
[[nodiscard]] Identification identify(const std::function<Outcome(const Case&)>& run, const BackendInfo& info,
                                      const IdentifyOptions& options);

[[nodiscard]] std::string identification_json(const Identification& identification);

}  // namespace qconform::diagnose
