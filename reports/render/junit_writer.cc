#include "reports/render/junit_writer.h"

#include <fmt/format.h>
#include <tinyxml2.h>

#include <algorithm>

#include "harness/base/terminal_text.h"

namespace qconform::report::junit {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// XML 1.0 has no way to write U+FFFE and U+FFFF, nor most control characters; the library passes them on.
std::string writable(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_none = text.compare(i, 3, "\xEF\xBF\xBE") == 0 || text.compare(i, 3, "\xEF\xBF\xBF") == 0;
    const auto byte = static_cast<unsigned char>(text[i]);
    if (is_none) {
      result += kReplacement;
      i += 2;
    } else if (byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r') {
      result += kReplacement;  // what nobody has shown as text before, a colour say
    } else {
      result += text[i];
    }
  }
  return result;
}

// In one line, as readers of XML take attributes anyway.
std::string writable_line(const std::string& text) {
  std::string line = text;
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return writable(shown(line));
}

std::size_t count(const TestSuite& suite, Result result) {
  return static_cast<std::size_t>(
      std::count_if(suite.cases.begin(), suite.cases.end(), [&](const TestCase& c) { return c.result == result; }));
}

class Writer {
 public:
  void attribute(const char* name, const std::string& value) {
    printer_.PushAttribute(name, writable_line(value).c_str());
  }
  void attribute(const char* name, std::size_t value) { attribute(name, std::to_string(value)); }

  void counts(const std::vector<TestSuite>& suites) {
    std::size_t tests = 0;
    std::size_t failures = 0;
    std::size_t errors = 0;
    for (const TestSuite& suite : suites) {
      tests += suite.cases.size();
      failures += count(suite, Result::failed);
      errors += count(suite, Result::error);
    }
    attribute("tests", tests);
    attribute("failures", failures);
    attribute("errors", errors);
  }

  void add(const TestCase& test_case) {
    printer_.OpenElement("testcase");
    attribute("classname", test_case.classname);
    attribute("name", test_case.name);
    if (test_case.result == Result::passed) {
      if (!test_case.text.empty()) text_element("system-out", test_case.text);
    } else {
      printer_.OpenElement(test_case.result == Result::failed  ? "failure"
                           : test_case.result == Result::error ? "error"
                                                               : "skipped");
      if (!test_case.type.empty()) attribute("type", test_case.type);
      attribute("message", test_case.message);
      if (!test_case.text.empty()) printer_.PushText(writable(shown_lines(test_case.text)).c_str());
      printer_.CloseElement();
    }
    printer_.CloseElement();
  }

  void add(const TestSuite& suite) {
    printer_.OpenElement("testsuite");
    attribute("name", suite.name);
    counts({suite});
    attribute("skipped", count(suite, Result::skipped));
    attribute("time", fmt::format("{:.3f}", suite.seconds));
    if (!suite.timestamp.empty()) attribute("timestamp", suite.timestamp);
    if (!suite.properties.empty()) {
      printer_.OpenElement("properties");
      for (const auto& [name, value] : suite.properties) {
        printer_.OpenElement("property");
        attribute("name", name);
        attribute("value", value);
        printer_.CloseElement();
      }
      printer_.CloseElement();
    }
    for (const TestCase& test_case : suite.cases) add(test_case);
    printer_.CloseElement();
  }

  std::string document(const std::string& name, const std::vector<TestSuite>& suites) {
    printer_.PushDeclaration(R"(xml version="1.0" encoding="UTF-8")");
    printer_.OpenElement("testsuites");
    attribute("name", name);
    counts(suites);
    for (const TestSuite& suite : suites) add(suite);
    printer_.CloseElement();
    return printer_.CStr();
  }

 private:
  void text_element(const char* name, const std::string& text) {
    printer_.OpenElement(name);
    printer_.PushText(writable(shown_lines(text)).c_str());
    printer_.CloseElement();
  }

  tinyxml2::XMLPrinter printer_;
};

}  // namespace

std::string document(const std::string& name, const std::vector<TestSuite>& suites) {
  return Writer().document(name, suites);
}

}  // namespace qconform::report::junit
