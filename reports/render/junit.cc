#include <fmt/format.h>
#include <tinyxml2.h>
#include <algorithm>
#include <set>

#include "harness/base/text.h"
#include "harness/engine/findings.h"
#include "reports/render/forms.h"
#include "reports/render/terminal.h"

namespace qconform::report {

namespace {

using junit::TestCase;
using junit::TestSuite;

// The process ended or hung: no answer was judged.
bool is_error(VerdictKind kind) {
  return kind == VerdictKind::crashed || kind == VerdictKind::timed_out || kind == VerdictKind::exited ||
         kind == VerdictKind::out_of_memory;
}

std::string class_of(const BackendResult& backend, const std::string& op_type) {
  return "qconform." + backend.info.name + "." + op_type;
}

TestCase test_of(const Finding& finding, const BackendResult& backend, std::set<std::string>& names) {
  TestCase test{class_of(backend, finding.op_type),
                finding.signature,
                junit::TestResult::failed,
                is_lossy_by_design(finding) ? "lossy-by-design" : std::string(name_of(finding.kind)),
                "",
                ""};
  // Names are the same from run to run; findings of several backends or operators may share a signature.
  for (int number = 2; !names.insert(test.name).second; ++number) {
    test.name = fmt::format("{} #{}", finding.signature, number);
  }
  test.message = fmt::format("{} in {}{}", name_of(finding.kind), cases_text(finding), subject_of(finding));
  for (const Fact& fact : facts_of(finding)) test.text += fmt::format("{:<9} {}\n", fact.label, shown(fact.value));
  if (is_error(finding.kind)) test.result = junit::TestResult::error;
  if (finding.waiver) {
    test.result = junit::TestResult::skipped;
    test.message =
        fmt::format("waived by {}: {} ({})", finding.waiver->id, finding.waiver->reason, finding.waiver->reference);
  } else if (!backend.decides) {
    test.result = junit::TestResult::skipped;
    test.message += "; the backend is not named with --backend and does not count";
  }
  return test;
}

// "pass 812, unsupported 40"
std::string verdicts_text(const OperatorResult& result) {
  std::string text;
  for (int i = 0; i < kVerdictKinds; ++i) {
    const auto kind = static_cast<VerdictKind>(i);
    if (result.count(kind) == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(kind), result.count(kind));
  }
  return text;
}

TestCase verdicts_test(const BackendResult& backend, const std::string& op_type, const OperatorResult& result) {
  TestCase test{class_of(backend, op_type),  "verdicts", junit::TestResult::passed, "", "",
                verdicts_text(result) + "\n"};
  if (result.count(VerdictKind::pass) > 0) return test;
  const bool is_declined = result.attempted() == 0;
  test.message = (is_declined ? "not implemented: " : "no case computed right: ") + verdicts_text(result);
  test.result = backend.decides && !backend.is_judged() ? junit::TestResult::failed : junit::TestResult::skipped;
  test.type = test.result == junit::TestResult::failed ? "nothing-passed" : "";
  return test;
}

TestCase undetermined_test(const BackendResult& backend, const std::string& op_type, std::uint64_t cases) {
  return {class_of(backend, op_type),
          kUndetermined,
          backend.decides ? junit::TestResult::failed : junit::TestResult::skipped,
          backend.decides ? kUndetermined : "",
          undetermined_text(cases),
          ""};
}

TestCase test_of(const RelationResult& relation, const BackendResult& backend) {
  TestCase test{"qconform." + backend.info.name + ".relations", relation.id, junit::TestResult::passed, "", "", ""};
  const std::string counts =
      fmt::format("{} held, {} broken, {} failed, {} skipped as implementation-defined, {} refused", relation.held,
                  relation.broken, relation.failed, relation.implementation_defined, relation.refused);
  if (relation.broken + relation.failed > 0) {
    test.result = backend.decides ? junit::TestResult::failed : junit::TestResult::skipped;
    test.type = "inconsistent";
  } else if (relation.held == 0) {
    test.result = junit::TestResult::skipped;
  }
  (test.result == junit::TestResult::passed ? test.text : test.message) = counts;
  return test;
}

// Failed where less was judged than --min-judged asks for.
TestCase test_of(const NodeCoverage& model, const BackendResult& backend) {
  TestCase test{"qconform." + backend.info.name + ".model", model.suite, junit::TestResult::passed, "", "", ""};
  const bool is_short = backend.min_judged && model.covered * 100 < *backend.min_judged * model.quantized();
  test.message = share_text(model);
  if (is_short) test.message += fmt::format("; --min-judged {}", *backend.min_judged);
  if (is_short) test.result = backend.decides ? junit::TestResult::failed : junit::TestResult::skipped;
  if (is_short) test.type = "min-judged";
  test.text = test.message + "\n";
  if (!is_short) test.message.clear();
  for (const UncoveredNodes& part : model.uncovered) test.text += uncovered_line(part) + "\n";
  return test;
}

// A layer of a whole model. One that is fed wrong values is right itself.
TestCase test_of(const ModelLayerResult& layer, std::size_t position, const BackendResult& backend) {
  TestCase test{"qconform." + backend.info.name + ".layers",
                fmt::format("{} {}", position + 1, layer.id),
                junit::TestResult::passed,
                "",
                "",
                share_text(layer) + "\n"};
  if (layer.state == LayerState::fed_wrong) test.text += "right on the values that a wrong layer led to\n";
  if (layer.state == LayerState::not_judged) test.result = junit::TestResult::skipped;
  if (!layer.is_wrong()) return test;
  test.message = share_text(layer);
  test.result = backend.decides ? junit::TestResult::failed : junit::TestResult::skipped;
  test.type = kLayerStates[static_cast<std::size_t>(layer.state)];
  test.text =
      fmt::format("{}: {}\n", shown(layer.finding), layer.worst ? element_text(*layer.worst) : share_text(layer));
  return test;
}

TestSuite new_suite(const Report& report, const BackendResult& backend, const std::string& subject) {
  TestSuite suite;
  suite.name = backend.info.name + "." + subject;
  suite.timestamp = report.environment.started.substr(0, report.environment.started.find('Z'));
  suite.properties = {{"backend version", backend.info.version},
                      {"qconform", report.environment.version},
                      {"profile", report.profile},
                      {"seed", std::to_string(report.seed)},
                      {"cpu", report.environment.cpu},
                      {"time", "backend alone, all operators, in the first of its suites"}};
  if (!report.environment.judged_commit.empty()) {
    suite.properties.emplace_back("commit under test", report.environment.judged_commit);
  }
  if (!backend.info.pinned.empty())
    suite.properties.emplace_back("pinned", fmt::format("{}", fmt::join(backend.info.pinned, ", ")));
  return suite;
}

std::vector<TestSuite> suites_of(const Report& report, const BackendResult& backend) {
  std::set<std::string> operators;
  for (const auto& [op_type, result] : backend.operators) operators.insert(op_type);
  for (const Finding& finding : report.findings) {
    if (finding.backend == backend.info.name) operators.insert(finding.op_type);
  }
  std::vector<TestSuite> suites;
  for (const std::string& op_type : operators) {
    TestSuite suite = new_suite(report, backend, op_type);
    std::set<std::string> names{"verdicts", kUndetermined};
    const auto result = backend.operators.find(op_type);
    if (result != backend.operators.end()) suite.cases.push_back(verdicts_test(backend, op_type, result->second));
    if (result != backend.operators.end() && result->second.undetermined > 0)
      suite.cases.push_back(undetermined_test(backend, op_type, result->second.undetermined));
    for (const Finding& finding : report.findings) {
      if (finding.backend == backend.info.name && finding.op_type == op_type)
        suite.cases.push_back(test_of(finding, backend, names));
    }
    suites.push_back(std::move(suite));
  }
  if (!backend.relations.empty()) {
    TestSuite suite = new_suite(report, backend, "relations");
    for (const RelationResult& relation : backend.relations) suite.cases.push_back(test_of(relation, backend));
    suites.push_back(std::move(suite));
  }
  if (!backend.nodes.empty()) {
    TestSuite suite = new_suite(report, backend, "model");
    for (const NodeCoverage& model : backend.nodes) suite.cases.push_back(test_of(model, backend));
    suites.push_back(std::move(suite));
  }
  if (report.model && report.model->backend == backend.info.name) {
    TestSuite suite = new_suite(report, backend, "layers");
    for (std::size_t i = 0; i < report.model->layers.size(); ++i) {
      suite.cases.push_back(test_of(report.model->layers[i], i, backend));
    }
    suites.push_back(std::move(suite));
  }
  // The time of a backend is known as a whole.
  if (!suites.empty()) suites.front().seconds = backend.seconds;
  return suites;
}

}  // namespace

std::string to_junit(const Report& report) {
  std::vector<TestSuite> suites;
  for (const BackendResult& backend : report.backends) {
    for (TestSuite& suite : suites_of(report, backend)) suites.push_back(std::move(suite));
  }
  return junit::document("qconform", suites);
}

}  // namespace qconform::report

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
      result += kReplacement;  // a control character that was not made visible before, of a colour say
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

std::size_t count(const TestSuite& suite, TestResult result) {
  return static_cast<std::size_t>(
      std::count_if(suite.cases.begin(), suite.cases.end(), [&](const TestCase& c) { return c.result == result; }));
}

class JunitWriter {
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
      failures += count(suite, TestResult::failed);
      errors += count(suite, TestResult::error);
    }
    attribute("tests", tests);
    attribute("failures", failures);
    attribute("errors", errors);
  }

  void add(const TestCase& test_case) {
    printer_.OpenElement("testcase");
    attribute("classname", test_case.classname);
    attribute("name", test_case.name);
    if (test_case.result == TestResult::passed) {
      if (!test_case.text.empty()) text_element("system-out", test_case.text);
    } else {
      printer_.OpenElement(test_case.result == TestResult::failed  ? "failure"
                           : test_case.result == TestResult::error ? "error"
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
    attribute("skipped", count(suite, TestResult::skipped));
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
  return JunitWriter().document(name, suites);
}

}  // namespace qconform::report::junit
