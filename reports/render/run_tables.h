// A run in tables for the terminal: backends by operator, a run in a few lines, reasons in few words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/text.h"
#include "harness/report/report.h"

namespace qconform::report {

class Painter {
 public:
  explicit Painter(bool colour) : colour_(colour) {}
  [[nodiscard]] std::string good(const std::string& text) const { return paint(text, Colour::green); }
  [[nodiscard]] std::string bad(const std::string& text) const { return paint(text, Colour::red); }
  [[nodiscard]] std::string aside(const std::string& text) const { return paint(text, Colour::yellow); }
  /// "pass" as good, "wrong" as bad, "unsupported" as neither.
  [[nodiscard]] std::string verdict(VerdictKind kind) const;

 private:
  [[nodiscard]] std::string paint(const std::string& text, Colour colour) const {
    return colour_ ? coloured(text, colour) : text;
  }
  bool colour_;
};

/// A row for each operator of each backend: cases computed right and wrong, rightly refused, declined, vacuous;
/// below it the kinds and the reasons. `verbose`: how many elements meet which tier. Narrower than usual where it must
/// fit into so many `columns`, or in words; 0: it need not.
[[nodiscard]] std::string backend_table(const Report& report, const Painter& paint, bool verbose, std::size_t columns);

/// "detection power on this contract: 41 of 43 mutants that apply", lines that begin with `indent`; below it the first
/// of those that survive, and how many further ones no known case shows.
[[nodiscard]] std::string power_lines(const DetectionPower& power, std::string_view indent);

/// Why nothing was judged of a backend: "all 4,235 valid cases declined: no kernel".
[[nodiscard]] std::string why_not_judged(const BackendResult& backend);

/// How many cases each backend computed right and wrong, a column for each operator: "1,309 / 0", "-" where it computed
/// none; and how many findings are waived. A line for each operator where that would not fit into `columns`.
[[nodiscard]] std::string brief_table(const Report& report, const Painter& paint, std::size_t columns);

/// "F1 wrong QLinearConv on mine, 39 cases: x [1,1,3] * w [1,1,3]; y[0,0,0] got 2, ... admissible {1}", for each
/// finding that no waiver covers.
[[nodiscard]] std::string finding_rows(const Report& report, const Painter& paint);

using qconform::shown;

/// A line for each group of reasons that begin alike, up to their first colon, the most frequent first: the count, and
/// the commonest reason of the group as it is, with the number of the others. `most`: after so many groups one line
/// counts the rest. With `verbose` every reason has its line.
[[nodiscard]] std::vector<std::string> reason_lines(const std::map<std::string, std::uint64_t>& counts, bool verbose,
                                                    std::size_t most = SIZE_MAX);

}  // namespace qconform::report
