// A benchmark's result as JSON: reports/schema/bench-1.schema.json.
#pragma once

#include <string>

#include "harness/bench/result.h"

namespace qconform::report {

/// Version of the JSON form; it grows when a reader of the older form could be misled.
inline constexpr int kBenchJsonVersion = 1;

[[nodiscard]] std::string to_json(const bench::BenchResult& result);

}  // namespace qconform::report
