// Maps the edges of an instrumented plugin to its source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/backends/code_coverage/code_coverage.h"
#include "harness/backends/code_coverage/code_listing.h"
#include "harness/base/error.h"
#include "harness/core/fields.h"

namespace qconform {

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

  bool operator==(const FileCode&) const = default;
};

/// By path, and by name within a file.
struct SourceCoverage {
  std::vector<FileCode> files;
  std::vector<FunctionCode> functions;
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
