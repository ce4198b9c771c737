// The code of a plugin that has run: the plugin is compiled to say so, and the worker that loads it listens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/fields.h"

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

// The instructions of a library, with the lines of source that they were made of.

struct CodeListing {
  struct Instruction {
    std::uint64_t offset = 0;
    std::uint32_t symbol = 0;    ///< instructions with different ones lie in different functions of the library
    std::uint32_t function = 0;  ///< position in `functions`; of an inlined function its own
    std::uint32_t file = 0;      ///< position in `files`
    std::uint32_t line = 0;      ///< 0 where the library has no debug information
    bool reports = false;        ///< calls what GCC's -fsanitize-coverage=trace-pc adds
  };

  std::vector<std::string> functions;     ///< "row_of<float>(int)"
  std::vector<std::string> files;         ///< absolute, or as the compiler was told
  std::vector<Instruction> instructions;  ///< in ascending order of `offset`

  [[nodiscard]] bool has_lines() const;
  /// Position of the last instruction that begins at `offset` or before it; instructions.size() where there is none.
  [[nodiscard]] std::size_t at(std::uint64_t offset) const;
};

/// As objdump of binutils lists it. Errors, of the field `module`: objdump is missing, or fails.
[[nodiscard]] Result<CodeListing> list_code(const std::string& module);

/// Reads what `objdump -d -l -C --no-show-raw-insn` prints, line by line.
class CodeListingReader {
 public:
  void take(std::string_view line);
  [[nodiscard]] CodeListing finish();

 private:
  using Numbers = std::map<std::string, std::uint32_t, std::less<>>;

  [[nodiscard]] static std::uint32_t number_of(std::string_view name, Numbers& numbers,
                                               std::vector<std::string>& names);
  void take_function(std::string_view name);
  bool take_instruction(std::string_view line);
  bool take_place(std::string_view line);

  CodeListing listing_;
  Numbers functions_;
  Numbers files_;
  CodeListing::Instruction next_;
};

// Maps the edges of an instrumented plugin to its source.

/// Lines that follow each other, but for those that have no code of their own.
struct LineRange {
  QC_DESCRIBED(.name = "lines");
  QC_FIELD(std::uint64_t, first, {}, "first");
  QC_FIELD(std::uint64_t, last, {}, "last");

  bool operator==(const LineRange&) const = default;
};

/// A function with its own lines, wherever it was inlined.
struct FunctionCode {
  QC_DESCRIBED(.name = "function");
  QC_FIELD(std::string, name, {}, "name");
  QC_FIELD(std::string, file, {}, "file");
  QC_FIELD(std::uint64_t, line, {}, "line", .doc = "The first that has code.");
  QC_FIELD(std::uint64_t, lines, {}, "lines", .doc = "That have code.");
  QC_FIELD(std::uint64_t, executed, {}, "executed", .doc = "Of these.");

  bool operator==(const FunctionCode&) const = default;
};

struct FileCode {
  QC_DESCRIBED(.name = "file");
  QC_FIELD(std::string, file, {}, "file");
  QC_FIELD(std::uint64_t, lines, {}, "lines", .doc = "That have code.");
  QC_FIELD(std::uint64_t, executed, {}, "executed", .doc = "Of these.");
  QC_FIELD(std::vector<LineRange>, not_executed, {}, "not_executed");
  QC_FIELD(std::vector<std::uint64_t>, with_code, {}, "with_code", .doc = "The lines that have code, ascending.");

  bool operator==(const FileCode&) const = default;
};

/// By path, and by name within a file.
struct SourceCoverage {
  std::vector<FileCode> files;
  std::vector<FunctionCode> functions;
};

/// A line of source that has code.
struct CodeLine {
  std::string file;
  std::uint32_t line = 0;
  std::string function;
};

class CodeMap {
 public:
  /// Errors: what list_code() says of a module.
  [[nodiscard]] static Result<CodeMap> of(const CodeCoverage& code);

  /// How many edges there are.
  [[nodiscard]] std::uint32_t edges() const { return edges_; }
  /// Whether the plugin has debug information.
  [[nodiscard]] bool has_lines() const;
  /// The source that the edges `executed` cover, without headers of the system. `code` is what the map was made of.
  [[nodiscard]] SourceCoverage source(const CodeCoverage& code, const std::vector<std::uint32_t>& executed) const;
  /// Returns the lines that run when an edge does, by the edge, without headers of the system. Edges whose place is not
  /// known have none.
  [[nodiscard]] std::map<std::uint32_t, std::vector<CodeLine>> lines_of(const CodeCoverage& code,
                                                                        const std::set<std::uint32_t>& edges) const;

 private:
  struct Module {
    CodeListing listing;
    /// For each instruction the one that begins its block: a position, or listing.instructions.size().
    std::vector<std::size_t> block;
  };

  /// Position of the instruction with which the edge begins; the number of instructions where it is not known.
  [[nodiscard]] static std::size_t begin_of(const CodeListing& listing, CodeCoverage::Form form, CodePlace place);

  std::vector<Module> modules_;
  std::uint32_t edges_ = 0;
};

}  // namespace qconform
