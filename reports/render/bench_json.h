// A benchmark's result as JSON: bench_document.h describes it.
#pragma once

#include <string>

#include "harness/bench/result.h"

namespace qconform::report {

[[nodiscard]] std::string to_json(const bench::BenchResult& result);

}  // namespace qconform::report
