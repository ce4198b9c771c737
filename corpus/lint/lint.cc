#include "corpus/lint/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>

#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/engine/execute.h"
#include "harness/forms/directml/description.h"
#include "harness/forms/json/case_json.h"
#include "harness/model/judge/judge.h"
#include "harness/suites/stored_cases.h"

namespace qconform::lint {
namespace {

constexpr std::size_t kLeastNote = 10;

// Findings on one file. The fields of errors begin with the vector's id.
struct FileFindings {
  std::string normal;           // the file in its normal form, with what was absent
  std::vector<Error> absent;    // members that only `normal` has: what the semantics say of the vector
  std::vector<Error> problems;  // mistakes that a person has to put right
};

std::string quoted(const std::string& text) {
  return text_json(text).dump();
}

std::string text_of(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& tensor : tensors) text += (text.empty() ? "" : ", ") + tensor_object(tensor).dump();
  return text.size() <= 200 ? text : text.substr(0, 200) + "...";
}

// Whoever runs the vector elsewhere compares a recorded answer bit for bit: it has to be the only right one.
bool are_the_only_answers(const Case& vector, const Classification& classification,
                          const std::vector<Tensor>& answers) {
  const Policy policy = policy_for(vector, Policy{});
  for (std::size_t output = 0; output < answers.size(); ++output) {
    for (std::int64_t i = 0; i < answers[output].elements(); ++i) {
      if (!classification.lowered->output(output).is_determined(i, policy)) return false;
    }
  }
  return !classification.value_is_open;
}

std::vector<Tensor> right_answers(const Lowered& lowered) {
  std::vector<Tensor> answers;
  for (std::size_t output = 0; output < lowered.outputs(); ++output) {
    answers.push_back(lowered.output(output).evaluate(RoundingProfile::correctly_rounded));
  }
  return answers;
}

// Examines the vectors of one file, one after the other, and adds what is absent.
class Examiner {
 public:
  // `answer` is the member that holds a vector's recorded output; `defective` a backend whose wrong answers are to be
  // recorded, or null.
  Examiner(const std::set<std::string>& rules, std::string answer, Backend* defective, FileFindings& findings)
      : rules_(rules), answer_(std::move(answer)), defective_(defective), findings_(findings) {}

  void vector(Case& vector) {
    const Classification classification = classify(vector);
    labels(vector, classification);
    if (expectation(vector, classification)) answer(vector, classification);
    defect(vector);
  }

  // Reading it has shown that a rule which it names refuses it.
  void refused(const directml::RefusedDescription& description) {
    Case vector;
    vector.id = description.id;
    vector.note = description.note;
    vector.rules = description.rules;
    vector.tags = description.tags;
    Classification out_of_contract;
    out_of_contract.contract.violate(description.error.rule, description.error.field, description.error.message);
    labels(vector, out_of_contract);
  }

 private:
  void labels(const Case& vector, const Classification& classification) {
    name_ = vector.id.empty() ? fmt::format("cases[{}]", position_) : vector.id;
    ++position_;
    if (vector.id.empty() || !ids_.insert(vector.id).second) {
      problem("id", "expected one of its own within the file, got " + quoted(vector.id));
    }
    if (vector.note.size() < kLeastNote || vector.note.find('\n') != std::string::npos) {
      problem("note", fmt::format("expected a line of {} characters or more, got {}", kLeastNote, quoted(vector.note)));
    }
    for (const std::string& rule : vector.rules) {
      if (!rules_.contains(rule)) problem("rules", "expected rules of docs/numerics.md, got " + quoted(rule));
    }
    for (const std::string& tag : vector.tags) {
      const std::string lacking = broken_promise(vector, classification, tag);
      if (!lacking.empty()) problem("tags", quoted(tag) + " promises " + lacking + ", got none");
    }
  }

  // Whether the rules expect of the vector what it states.
  bool expectation(Case& vector, const Classification& classification) {
    const Expectation right = classification.expectation();
    if (vector.expectation == Expectation::unstated) {
      absent("expectation", std::string(name_of(right)));
      vector.expectation = right;
    }
    const reference::Remark* remark = classification.deciding_remark();
    const std::string rule = remark ? remark->rule : "";
    const std::string reason = remark ? remark->field + ": " + remark->message : "it keeps every rule";
    if (vector.expectation != right) {
      problem("expectation",
              fmt::format("expected {} ({}), got {}", name_of(right), reason, name_of(vector.expectation)), rule);
    } else if (remark && std::find(vector.rules.begin(), vector.rules.end(), rule) == vector.rules.end()) {
      problem("rules",
              fmt::format("expected the one that makes it {} ({}), got [{}]", name_of(right), reason,
                          fmt::join(vector.rules, ", ")),
              rule);
    }
    return vector.expectation == right;
  }

  void answer(Case& vector, const Classification& classification) {
    std::vector<Tensor>& recorded = vector.recorded_outputs;
    const std::string got = text_of(recorded);
    if (!classification.lowered) {
      if (!recorded.empty()) problem(answer_, "expected none, since the vector must be refused, got " + got);
      return;
    }
    std::vector<Tensor> right = right_answers(*classification.lowered);
    if (!are_the_only_answers(vector, classification, right)) {
      if (!recorded.empty()) problem(answer_, "expected none, since more than one answer is right, got " + got);
    } else if (recorded.empty()) {
      absent(answer_, text_of(right));
      recorded = std::move(right);
    } else if (recorded != right) {
      problem(answer_, "expected " + text_of(right) + ", got " + got);
    }
  }

  // Records what the backend gets wrong of a vector whose right output proves nothing by itself.
  void defect(Case& vector) const {
    Expected expected = expect(vector, Policy{});
    assess(vector, expected);
    if (expected.defect_disputed) problem("defect", "expected what the rules do not admit, got an answer that they do");
    if (defective_ == nullptr || expected.vacuous_because.empty()) return;
    GuardedOutput output;
    const Outcome outcome = execute(*defective_, vector, output);
    const Verdict verdict = judge(expected, outcome);
    if (is_failure(verdict.kind)) vector.defect = defect_answer(vector, expected.policy, outcome, verdict);
  }

  void problem(const std::string& field, std::string message, std::string rule = {}) const {
    findings_.problems.push_back(Error{field, std::move(message), std::move(rule)}.in(name_));
  }
  void absent(const std::string& field, const std::string& value) {
    findings_.absent.push_back(Error{field, "expected " + value + ", got nothing; --write adds it", {}}.in(name_));
  }

  const std::set<std::string>& rules_;
  std::string answer_;
  Backend* defective_;
  FileFindings& findings_;
  std::set<std::string> ids_;
  std::size_t position_ = 0;
  std::string name_;  // the name of the vector under examination
};

// The members in the order in which DirectML's documentation has them; those that a wrong one has beside them last.
Json in_order(const Json& description) {
  std::vector<std::string> members{"id", "note", "rules", "tags", "expectation"};
  for (const directml::TensorRule& tensor : directml::kTensors) members.emplace_back(tensor.name);
  for (const char* member : {"DimensionCount", "Strides", "Dilations", "StartPadding", "EndPadding", "GroupCount"}) {
    members.emplace_back(member);
  }
  Json ordered = Json::object();
  for (const std::string& member : members) {
    if (description.contains(member)) ordered[member] = description[member];
  }
  ordered.update(description);
  return ordered;
}

// `object` is the description as it stands in the file.
Result<void> examine_description(const directml::Description& description, Examiner& examiner, Json& object) {
  QCONFORM_ASSIGN(auto vector, in_context(description.id, directml::lower(description)));
  const bool was_answered = !vector.recorded_outputs.empty();
  examiner.vector(vector);
  object["expectation"] = name_of(vector.expectation);
  if (!vector.recorded_outputs.empty() && !was_answered) {
    Json contents = tensor_object(vector.recorded_outputs.front());
    contents.erase("type");
    contents.erase("shape");
    object["OutputTensor"].update(contents);
  }
  return {};
}

Result<void> examine_descriptions(std::string_view text, Examiner& examiner, FileFindings& findings) {
  QCONFORM_ASSIGN(const auto file, directml::read_description_file_json(text));
  QCONFORM_ASSIGN(auto document, parse_json(text));
  if (!document.contains("format")) return fail("format", "expected \"qconform-directml\", got nothing");
  auto refused = file.refused.begin();
  auto description = file.descriptions.begin();
  for (Json& object : document["cases"]) {
    if (object.contains("expectation") && object["expectation"] == name_of(Expectation::invalid)) {
      examiner.refused(*refused++);
    } else {
      QCONFORM_TRY(examine_description(*description++, examiner, object));
    }
    object = in_order(object);
  }
  findings.normal =
      print_json({{"format", document["format"]}, {"version", document["version"]}, {"cases", document["cases"]}});
  return {};
}

// An error: the text is no such file.
Result<FileFindings> examine(std::string_view text, bool is_descriptions, const std::set<std::string>& rules,
                             Backend* defective) {
  FileFindings findings;
  Examiner examiner(rules, is_descriptions ? "OutputTensor.data" : "recorded_output", defective, findings);
  if (is_descriptions) {
    QCONFORM_TRY(examine_descriptions(text, examiner, findings));
  } else {
    QCONFORM_ASSIGN(auto cases, read_cases_json(text));
    for (Case& vector : cases) examiner.vector(vector);
    findings.normal = cases_json(cases);
  }
  return findings;
}

// Reports the first place in which a file departs from its normal form: the vector, the line, and the expected text.
Error misprint(std::string_view text, std::string_view normal) {
  const auto differing = std::mismatch(text.begin(), text.end(), normal.begin(), normal.end()).first;
  const auto at = static_cast<std::size_t>(differing - text.begin());
  const std::size_t begin = normal.substr(0, at).rfind('\n') + 1;
  const auto line = [&](std::string_view of) {
    return at < of.size() ? fmt::format("`{}`", of.substr(begin, of.find('\n', begin) - begin)) : "the end of the file";
  };
  const Error error{fmt::format("line {}", 1 + std::count(text.begin(), differing, '\n')),
                    "expected " + line(normal) + ", got " + line(text) + "; --write puts the file into its normal form",
                    {}};
  constexpr std::string_view kId = "\n      \"id\": \"";
  const std::size_t id = normal.substr(0, at).rfind(kId);
  if (id == std::string_view::npos) return error;
  const std::string_view name = normal.substr(id + kId.size());
  return error.in(std::string(name.substr(0, name.find('"'))));
}

constexpr const char* kUsage =
    "usage: qconform_corpus_lint [--write [--defects-of BACKEND]] PATH...\n"
    "Examines case files, and those below folders: that vectors are what they say, and files in their normal form.\n"
    "  --write                put files into their normal form, and add expectations and answers that are absent\n"
    "  --defects-of BACKEND   record what BACKEND gets wrong in vectors whose right output proves nothing by itself\n"
    "Exit code: 0 all is well, 1 something is wrong, 2 wrong use.\n"
    "example: qconform_corpus_lint --write corpus/qlinear_conv/padding.json\n";

Result<std::vector<std::filesystem::path>> files_at(std::span<const std::string> paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    QCONFORM_ASSIGN(const auto found, case_files_at(path));
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// The ids in the tables of a page whose first column is headed "rule".
std::set<std::string> documented_rules(std::string_view page) {
  std::set<std::string> rules;
  bool in_table = false;
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(page.size(), line.size() + 1));
    if (!line.starts_with("| "))
      in_table = in_table && line.starts_with("|-");
    else if (in_table)
      rules.emplace(line.substr(2, line.find(" |", 2) - 2));
    else
      in_table = line.starts_with("| rule |");
  }
  return rules;
}

Result<std::set<std::string>> known_rules() {
  std::set<std::string> rules;
  for (const char* page :
       {"docs/numerics.md", "docs/operators/dml_quantized_linear_convolution.md", "docs/operators/graph.md"}) {
    QCONFORM_ASSIGN(const auto text, read_file(std::filesystem::path(QCONFORM_SOURCE_DIRECTORY) / page, 1 << 22));
    rules.merge(documented_rules(text));
  }
  return rules;
}

// Returns the problems of one file. With `write`, puts the file into its normal form first, and returns those that
// remain.
Result<std::vector<Error>> lint(const std::filesystem::path& path, bool write, const std::set<std::string>& rules,
                                Backend* defective) {
  QCONFORM_ASSIGN(const auto text, read_file(path, limits::kJsonFileBytes));
  const bool is_descriptions = path.filename().string().ends_with(".dml.json");
  QCONFORM_ASSIGN(auto findings, in_context(path.string(), examine(text, is_descriptions, rules, defective)));
  std::vector<Error> problems = std::move(findings.problems);
  if (write) {
    if (text != findings.normal) QCONFORM_TRY(write_file(path, findings.normal));
  } else if (text != findings.normal) {
    if (findings.absent.empty()) findings.absent.push_back(misprint(text, findings.normal));
    problems.insert(problems.end(), findings.absent.begin(), findings.absent.end());
  }
  for (Error& error : problems) error = error.in(path.string());
  return problems;
}

}  // namespace

int run(std::span<const std::string> arguments, std::ostream& out, std::ostream& err) {
  const bool write = !arguments.empty() && arguments.front() == "--write";
  if (write) arguments = arguments.subspan(1);
  std::unique_ptr<Backend> defective;
  if (write && arguments.size() > 2 && arguments.front() == "--defects-of") {
    auto backend = backend::select(arguments[1], RoundingProfile::correctly_rounded);
    if (!backend) {
      err << backend.error().text() << "\n";
      return 2;
    }
    defective = std::move(*backend);
    arguments = arguments.subspan(2);
  }
  const bool is_help = arguments.size() == 1 && arguments.front() == "--help";
  if (is_help || arguments.empty() || arguments.front().starts_with("-")) {
    (is_help ? out : err) << kUsage;
    return is_help ? 0 : 2;
  }
  const auto rules = known_rules();
  const auto files = files_at(arguments);
  if (!rules || !files) {
    err << (rules ? files.error() : rules.error()).text() << "\n";
    return 2;
  }
  std::size_t problems = 0;
  for (const std::filesystem::path& file : *files) {
    const auto found = lint(file, write, *rules, defective.get());
    for (const Error& error : found ? *found : std::vector{found.error()}) {
      out << error.text() << "\n";
      ++problems;
    }
  }
  return problems == 0 ? 0 : 1;
}

}  // namespace qconform::lint
