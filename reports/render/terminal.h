// A run on the terminal: tables, findings, models, code that was executed, the summary.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/text.h"
#include "harness/engine/cover.h"
#include "harness/report/report.h"

namespace qconform::report {

// Tables: backends by operator, a run in a few lines, reasons in few words.

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

/// "F1 wrong QLinearConv on mine, 39 cases: x [1,1,3] * w [1,1,3]; y[0,0,0] got 2, ... admissible {1}".
[[nodiscard]] std::string finding_row(const Finding& finding, const Painter& paint);
/// "of outputs of 16 elements and more: ", which alone were counted; empty where all were.
[[nodiscard]] std::string large_outputs_text(std::uint32_t elements);
/// What stands behind a place that was found by runs: "   (exactly: all 384 elements there are wrong, none of 1,152
/// elsewhere)"; empty without wrong elements.
[[nodiscard]] std::string place_counts_text(std::uint64_t wrong, std::uint64_t right, std::uint64_t elsewhere);
/// The row of each finding that no waiver covers.
[[nodiscard]] std::string finding_rows(const Report& report, const Painter& paint);

using qconform::shown;

/// A line for each group of reasons that begin alike, up to their first colon, the most frequent first: the count, and
/// the commonest reason of the group as it is, with the number of the others. `most`: after so many groups one line
/// counts the rest. With `verbose` every reason has its line.
[[nodiscard]] std::vector<std::string> reason_lines(const std::map<std::string, std::uint64_t>& counts, bool verbose,
                                                    std::size_t most = SIZE_MAX);

// Texts of a finding, for every form that people read.

/// One line of a finding: "when", "padded, x_zero_point != 0 ...".
struct Fact {
  /// why, cured, rewrites, avoid, support, when, where, look at, source, known, smallest, what, place, printed, case,
  /// shrunk, since, replay, vary
  std::string label;
  std::string value;
};

/// A command line for people: one that is too long to be read is cut.
[[nodiscard]] std::string shown_command(const std::string& command);

/// In the order in which they are read; what is not known is left out.
[[nodiscard]] std::vector<Fact> facts_of(const Finding& finding);

/// Wrong, and on purpose: told apart from other failures, and a failure all the same.
[[nodiscard]] bool is_lossy_by_design(const Finding& finding);

/// "convolution.cc:41-43 in tap: 2 of 2 failing cases execute it, and 3 of 60 passing ones"
[[nodiscard]] std::string suspect_text(const Suspects& suspects, std::size_t number);

/// Behind the verdict, what it is about: ", pad-raw-zero (C1)", ", lossy by design, bias-rounded", " (C8)"; empty where
/// no more is known.
[[nodiscard]] std::string subject_of(const Finding& finding);

/// "1,900 further failing cases, not examined far enough to name a cause"; empty for none.
[[nodiscard]] std::string undetermined_text(std::uint64_t cases);

/// "39 cases", "4,000 cases, 1,187 of them examined", "94 cases, in all 430 to 610"
[[nodiscard]] std::string cases_text(const Finding& finding);

/// The smallest failing case in one line, also where the finding was read from a report.
[[nodiscard]] std::string example_summary(const Finding& finding);
/// The case as it was met, in one line, also where the finding was read from a report.
[[nodiscard]] std::string original_summary(const Shrinking& shrinking);

// Lines of a run about the quantized nodes of whole models.

/// "1.4 %"; 100 % of all alone, and 0 % of none alone.
[[nodiscard]] std::string share_text(std::uint64_t part, std::uint64_t whole);

/// "judged 2 of 141 quantized nodes (1.4 %)"
[[nodiscard]] std::string share_text(const NodeCoverage& judged);

/// "judged 2 of 141 quantized nodes (1.4 %): scalar, avx2" for each model and each share; the model follows where there
/// are several.
[[nodiscard]] std::vector<std::string> share_lines(const Report& report);

/// share_lines(), and below them every other quantized node by operator and reason: those without a case, and what else
/// each backend was not judged on. Empty without models.
[[nodiscard]] std::string node_lines(const Report& report, const Painter& paint);

/// "1.5 % of 96 elements wrong" of a layer that is wrong, else how many elements it has or why it has no share.
[[nodiscard]] std::string share_text(const ModelLayerResult& layer);

/// Shows each layer of a whole model as a character, lists the wrong ones with their shares, and names the first.
[[nodiscard]] std::string layer_lines(const ModelRun& run);

/// "     89  MatMulInteger: operator: ..."
[[nodiscard]] std::string uncovered_line(const UncoveredNodes& part);

// Code of an instrumented plugin that cases execute.

/// In 80 columns: how much each suite and what was drawn executed, the functions and lines that nothing executes, and
/// how many cases are kept.
[[nodiscard]] std::string cover_table(const CoverResult& result);
/// For tools that show the lines of source that tests execute: a tracefile of lcov; an XML document of Cobertura, whose
/// paths are relative to "/". A line that was executed counts once.
[[nodiscard]] std::string to_lcov(const CoverResult& result);
[[nodiscard]] std::string to_cobertura(const CoverResult& result);

// The first line of a run, its summary and its last lines.

/// The first line of a run: version, seed, kernels, profile. Printed before anything random starts.
[[nodiscard]] std::string headline(const Report& report);

struct SummaryStyle {
  bool colour = false;      ///< ANSI colours
  bool verbose = false;     ///< also digests, ties, corner cases, elements by tier, seconds by stage
  bool brief = false;       ///< a row for each backend and a line for each finding instead
  std::size_t columns = 0;  ///< width that tables should fit into; 0: no matter
};

/// Text of what each backend did by operator, and findings with their replay lines.
[[nodiscard]] std::string summary(const Report& report, const SummaryStyle& style);

/// Result lines: one for each backend, and one for the run where there are several or the exit code says otherwise.
/// The last line begins with "conforms", or with "agrees on" where nobody asked for more, exactly where the exit code
/// is 0.
[[nodiscard]] std::string conclusions(const Report& report, bool colour);

// Words and numbers for a reader.

using qconform::with_thousands;

/// "1 case", "12,345 cases"
[[nodiscard]] std::string plural(std::uint64_t count, const std::string& noun);

/// "backend 12 ms", "shrinking 3.1 s": a time alone does not say what took it.
[[nodiscard]] std::string duration(std::string_view what, double seconds);

/// "y[0,3] of x [1,4], ...: right 3; half-away computes 4, the backend answers 4; truncates computes 2"
[[nodiscard]] std::string experiment_text(const SeparatingCase& experiment);

/// "y[0,0,0,0] got 207, exact 214 + 3/8, admissible {214}"; of a graph's further outputs "output 1 [0] got ...".
[[nodiscard]] std::string element_text(const ElementReport& element);

}  // namespace qconform::report
