// JUnit XML: suites, cases and their results.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace qconform::report::junit {

enum class Result { passed, failed, error, skipped };

struct TestCase {
  std::string classname;
  std::string name;
  Result result = Result::passed;
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
