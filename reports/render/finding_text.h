// Texts of a finding, for every form that people read.
#pragma once

#include <string>
#include <vector>

#include "harness/report/report.h"

namespace qconform::report {

/// One line of a finding: "when", "padded, x_zero_point != 0 ...".
struct Fact {
  /// why, avoid, support, when, where, look at, known, smallest, what, place, printed, case, shrunk, replay
  std::string label;
  std::string value;
};

/// A command line for people: one that is too long to be read is cut.
[[nodiscard]] std::string shown_command(const std::string& command);

/// In the order in which they are read; what is not known is left out.
[[nodiscard]] std::vector<Fact> facts_of(const Finding& finding);

/// Wrong, and on purpose: told apart from other failures, and a failure all the same.
[[nodiscard]] bool is_lossy_by_design(const Finding& finding);

/// Behind the verdict, what it is about: ", pad-raw-zero (C1)", ", lossy by design, bias-rounded", " (C8)"; empty where
/// no more is known.
[[nodiscard]] std::string subject_of(const Finding& finding);

/// "1,900 further failing cases, not examined far enough to name a cause"; empty for none.
[[nodiscard]] std::string undetermined_text(std::uint64_t cases);

/// "39 cases", "4,000 cases, 1,187 of them examined"
[[nodiscard]] std::string cases_text(const Finding& finding);

/// The smallest failing case in one line, also where the finding was read from a report.
[[nodiscard]] std::string example_summary(const Finding& finding);
/// The case as it was met, in one line, also where the finding was read from a report.
[[nodiscard]] std::string original_summary(const Shrinking& shrinking);

}  // namespace qconform::report
