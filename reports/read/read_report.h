// Reports read back from their JSON form: what is rendered from a report, and what compares reports, starts here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "harness/base/error.h"
#include "harness/report/report.h"

namespace qconform::report {

/// A larger file is refused. A report has no tensors, so this is much.
inline constexpr std::int64_t kReportBytes = std::int64_t{256} << 20;
/// Keys of one object: reasons for which cases were not computed are keys.
inline constexpr std::size_t kReportKeys = std::size_t{1} << 14;

/// The report that the text holds. Strict: unknown and missing members, values of the wrong type, and sums that
/// contradict what they are sums of are errors whose field is the JSON path. Cases have their id, operator and
/// summary only, as the report does; report::to_json() of the result is the text again.
///
/// A version of the form above Report::kVersion is refused with a message that says so.
[[nodiscard]] Result<Report> read_report(std::string_view text);

/// Reads the report in a file of at most kReportBytes; the error names the file.
[[nodiscard]] Result<Report> load_report(const std::filesystem::path& file);

}  // namespace qconform::report
