// The report as a summary for the terminal.
#pragma once

#include <string>

#include "harness/base/text.h"
#include "harness/report/report.h"

namespace qconform::report {

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
/// The last line begins with "conforms", or with "agrees on"
/// where nobody asked for more, exactly where the exit code is 0.
[[nodiscard]] std::string conclusions(const Report& report, bool colour);

using qconform::with_thousands;

/// "1 case", "12,345 cases"
[[nodiscard]] std::string plural(std::uint64_t count, const std::string& noun);

/// "backend 12 ms", "shrinking 3.1 s": a time alone does not say what took it.
[[nodiscard]] std::string duration(std::string_view what, double seconds);

/// "y[0,0,0,0] got 207, exact 214 + 3/8, admissible {214}"; of a graph's further outputs "output 1 [0] got ...".
[[nodiscard]] std::string element_text(const ElementReport& element);

}  // namespace qconform::report
