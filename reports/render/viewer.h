// The page that shows a report, without its data. A build has one if Node.js and the packages of
// reports/viewer were there.
#pragma once

#include <span>
#include <string_view>

namespace qconform::report {

/// The page's text: `begin`, the report's JSON, `behind_report`, the benchmark's JSON or nothing, `behind_bench`, the
/// matrix' JSON or nothing, `behind_matrix`, the comparison's JSON or nothing, `end`.
struct Viewer {
  std::span<const std::string_view> begin;
  std::span<const std::string_view> behind_report;
  std::span<const std::string_view> behind_bench;
  std::span<const std::string_view> behind_matrix;
  std::span<const std::string_view> end;
};

/// Null when this build has none.
[[nodiscard]] const Viewer* viewer();

/// Why it has none: "npm was not found". Empty when it has one.
[[nodiscard]] std::string_view why_no_viewer();

}  // namespace qconform::report
