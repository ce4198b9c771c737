// The code of a plugin that has run: the plugin is compiled to say so, and the worker that loads it listens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qconform {

/// The compiler flags that instrument a plugin, for messages.
inline constexpr std::string_view kCoverageFlags =
    "-gdwarf-4 -O0 and -fsanitize-coverage=trace-pc-guard,pc-table,no-prune of clang, or -fsanitize-coverage=trace-pc "
    "of GCC";

// A build with sanitizers has these functions in their run-time library, which does not pass on what it hears.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#elif defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(memory_sanitizer) && !__has_feature(thread_sanitizer) && \
    !__has_feature(coverage_sanitizer)
#define QCONFORM_RECORDS_CODE 1
#endif
#else
#define QCONFORM_RECORDS_CODE 1
#endif

/// False in a build with sanitizers.
[[nodiscard]] bool can_record_code();

/// The place in the code at which an edge of the control flow begins.
struct CodePlace {
  std::uint32_t module = 0;  ///< position in CodeCoverage::modules()
  std::uint64_t offset = 0;  ///< distance of an instruction from where the module is loaded; kNowhere if not known
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
};

/// Memory that qconform and a worker forked from it share, in which the worker's plugin marks the edges that it
/// executes. A worker that takes its place loads the same plugin and marks the same edges.
///
/// In clang's form (trace-pc-guard) every edge has a number, and with pc-table a place. GCC's form (trace-pc) only says
/// where it is called from: an edge gets its number when it is first executed.
class CodeCoverage {
 public:
  enum class Form : std::uint8_t { none, guards, calls };
  /// Marks beyond these are lost.
  static constexpr std::size_t kMostGuards = std::size_t{1} << 20;
  static constexpr std::size_t kMostCalls = std::size_t{1} << 17;
  static constexpr std::size_t kMostModules = 16;

  /// Throws bad_alloc where the system has no memory.
  CodeCoverage();
  CodeCoverage(const CodeCoverage&) = delete;
  CodeCoverage& operator=(const CodeCoverage&) = delete;
  ~CodeCoverage();

  // The side of the worker.

  /// Makes code that is loaded into this process from now on mark its edges here. Called once in a process.
  void record_here();

  // The side of qconform, while the worker computes nothing.

  /// The form with which the code loaded so far is compiled; clang's, where there are both.
  [[nodiscard]] Form form() const;
  /// Keeps the edges executed until now as those of loading, which belong to no case, and takes the marks away.
  void settle();
  /// Takes the marks away.
  void forget();
  /// The numbers of the edges executed since forget(), in ascending order; those that settle() saw are left out.
  [[nodiscard]] std::vector<std::uint32_t> executed() const;
  /// The numbers of the edges that were executed before settle(), while the code was loaded.
  [[nodiscard]] const std::vector<std::uint32_t>& executed_by_loading() const { return loading_; }
  /// How many edges there are, executed or not; known here only in clang's form.
  [[nodiscard]] std::optional<std::uint32_t> edges() const;
  [[nodiscard]] CodePlace place(std::uint32_t edge) const;
  /// Files that were instrumented, as they were loaded.
  [[nodiscard]] std::vector<std::string> modules() const;

 private:
  friend class CodeRecorder;
  struct Shared;

  [[nodiscard]] std::vector<std::uint32_t> marked() const;

  Shared* shared_;
  std::vector<std::uint32_t> loading_;
};

}  // namespace qconform
