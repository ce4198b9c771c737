// The report in the forms that other programs read (JSON, one HTML page, JUnit XML, Markdown), and read back from JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/report/report.h"

namespace qconform::report {

[[nodiscard]] std::string to_json(const Report& report);

/// The documents of a page, as texts; those that are empty are left out.
struct PageDocuments {
  std::string_view report;      ///< document of to_json()
  std::string_view bench;       ///< document of `qconform bench`
  std::string_view comparison;  ///< document of gate::to_json(): the report against a baseline
};

/// The page with the report, its matrix where a library has several backends, and the other documents. Errors name
/// what is wrong with them, in the field "report", "bench" or "comparison"; field "viewer": this build has no page.
[[nodiscard]] Result<std::string> to_html(const PageDocuments& documents);

/// A test suite for each backend and operator. Its test cases are "verdicts" (the counts; fails where nothing was
/// computed) and one for each finding, named by its signature: a failure; an error where the process died or
/// hung; skipped where it is waived, or the backend does not decide. One more suite for the relations, if there are
/// any. Valid by the schema that Jenkins' xUnit plugin uses for Surefire's form. Control characters stand
/// as text, "\x1b"; U+FFFE and U+FFFF, which XML 1.0 cannot hold, are replaced by U+FFFD.
[[nodiscard]] std::string to_junit(const Report& report);

/// "src/mine.cc:42" in its parts; without a number behind the last colon all of it is the file.
struct SourcePlace {
  std::string file;
  std::uint64_t line = 0;  ///< 0 where none is stated
  std::uint64_t last = 0;  ///< the last of several lines; 0: there is one
};
[[nodiscard]] SourcePlace source_place(std::string_view text);
/// The most suspect line of an instrumented plugin's finding, relative to the folder that qconform runs in if it lies
/// there; without one, source_place(otherwise).
[[nodiscard]] SourcePlace source_place(const Finding& finding, std::string_view otherwise);

struct SarifOptions {
  /// "src/mine.cc" or "src/mine.cc:42", where the findings are shown; empty: the plugin's file, where its path is
  /// relative, or no file.
  std::string source;
  std::map<std::string, std::string> states;  ///< by id of a finding: "new" or "unchanged" since a baseline
};

/// SARIF 2.1.0: a result for each finding, with a fingerprint that is the same from run to run; waived ones are
/// suppressed, those of backends that do not decide are notes.
[[nodiscard]] std::string to_sarif(const Report& report, const SarifOptions& options);

/// Most characters that GitHub takes as a comment; a text has no more characters than bytes.
inline constexpr std::size_t kCommentBytes = 65536;
/// Room for the verdict and some backends.
inline constexpr std::size_t kLeastMarkdownBytes = 2048;

/// The verdict first, then a table of backends and operators, then the findings that are not waived, at most
/// `limit` bytes together; what does not fit is counted. Text of backends and cases is escaped.
[[nodiscard]] std::string to_markdown(const Report& report, std::size_t limit);

// Reports read back from their JSON form: what is rendered from a report, and what compares reports, starts here.

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

namespace qconform::report::junit {

// JUnit XML: suites, cases and their results.

enum class TestResult { passed, failed, error, skipped };

struct TestCase {
  std::string classname;
  std::string name;
  TestResult result = TestResult::passed;
  std::string type;     ///< kind of a failure, in one word
  std::string message;  ///< one line
  std::string text;     ///< all that is known
};

struct TestSuite {
  std::string name;
  std::string timestamp;  ///< "2026-11-30T12:00:00"
  double seconds = 0;
  std::vector<std::pair<std::string, std::string>> properties;
  std::vector<TestCase> cases;
};

/// A document with all suites and their counts.
[[nodiscard]] std::string document(const std::string& name, const std::vector<TestSuite>& suites);

}  // namespace qconform::report::junit

namespace qconform::report {

// Pieces of Markdown as GitHub and GitLab show it. Internal to reports.

/// Text of others in a line or a table's cell: nothing in it is markup, a line break is a space.
[[nodiscard]] std::string escaped(std::string_view text);

/// Text of others inside of an HTML element, where Markdown's own markup is none.
[[nodiscard]] std::string escaped_html(std::string_view text);

/// At most so many bytes and "...", cut between characters of UTF-8.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t longest);

/// Text as code in a line or a cell.
[[nodiscard]] std::string code(std::string_view text);

/// A block of code; the fence is longer than any in the text.
[[nodiscard]] std::string code_block(std::string_view text);

/// A finding, folded: what it is in the head, the facts and the replay line below.
[[nodiscard]] std::string finding_markdown(const Finding& finding);

/// Gathers pieces until a size is reached. The head is always there; what does not fit is counted.
class LimitedText {
 public:
  LimitedText(std::string head, std::size_t limit) : text_(std::move(head)), limit_(limit) {}
  /// Adds the piece if there is room for it and for the closing line; once one was left out, so are the
  /// others.
  void add(const std::string& piece);
  /// The text; where pieces were left out, with a line "N more NOUN: WHERE".
  [[nodiscard]] std::string close(const std::string& noun, const std::string& where) const;

 private:
  static constexpr std::size_t kClosingBytes = 256;
  std::string text_;
  std::size_t limit_;
  std::size_t left_out_ = 0;
};

}  // namespace qconform::report
