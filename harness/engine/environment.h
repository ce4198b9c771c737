// The environment in which a run takes place.
#pragma once

#include "harness/report/report.h"

namespace qconform {

/// Version, commit, compiler, CPU, operating system, time, kernel sets; the commit under test where a variable of a CI
/// system names it.
[[nodiscard]] Environment current_environment();

/// The instructions that decide which kernel a library chooses for 8-bit products: "amx", "avx512vnni",
/// "avx512", "avxvnni", "avx2" or "x86-64", the first that this CPU has; "arm64" elsewhere.
[[nodiscard]] std::string cpu_level();

}  // namespace qconform
