// Lines of a run about the quantized nodes of whole models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/report/report.h"
#include "reports/render/run_tables.h"

namespace qconform::report {

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

/// "     89  MatMulInteger: operator: ..."
[[nodiscard]] std::string uncovered_line(const UncoveredNodes& part);

}  // namespace qconform::report
