// Parses what libFuzzer prints about its progress.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace qconform::guided {

struct Coverage {
  std::uint64_t edges = 0;
  std::uint64_t features = 0;
};

/// A line of the process that forks the others:
/// "#1234: cov: 500 ft: 2000 corp: 300 exec/s: 10 oom/timeout/crash: 0/1/2 time: 12s job: 3 ..."
struct ForkLine {
  std::uint64_t executions = 0;
  Coverage coverage;
};
[[nodiscard]] std::optional<ForkLine> fork_line(std::string_view line);

/// How far a forked process has come, from the end of its log: the last whole line "#1234\tNEW    cov: 5 ft: 6 ...".
struct JobLine {
  std::uint64_t executions = 0;
  Coverage coverage;
};
[[nodiscard]] JobLine last_job_line(std::string_view log);

}  // namespace qconform::guided
