// Whether the corpus notices when a rule is broken. With QCONFORM_PRINT_MUTANTS set, the table is
// printed.
#include "harness/tests/rule_mutants.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "harness/base/file.h"
#include "harness/core/limits.h"
#include "harness/forms/directml/description.h"
#include "harness/suites/select.h"

namespace qconform::testing {
namespace {

// Descriptions that their rules refuse: they never become a case, and state an expectation all the same.
void add_refused_descriptions(std::vector<Vector>& vectors) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus_folder())) {
    if (!entry.path().string().ends_with(".dml.json")) continue;
    const Result<std::string> text = read_file(entry.path(), limits::kJsonFileBytes);
    ASSERT_TRUE(text) << text.error().text();
    const auto file = directml::read_description_file_json(*text);
    ASSERT_TRUE(file) << file.error().text();
    for (const directml::RefusedDescription& refused : file->refused) {
      Vector& vector = vectors.emplace_back();
      vector.test_case.id = refused.id;
      vector.test_case.expectation = Expectation::invalid;
      vector.expected.classification.contract.violate(refused.error.rule, refused.error.field, refused.error.message);
    }
  }
}

const std::vector<Vector>& corpus() {
  static const std::vector<Vector> all = [] {
    std::vector<Vector> vectors;
    auto sources = open_suite("corpus", {});
    if (!sources) return vectors;
    // Reserved: a Vector's parts refer to its case.
    vectors.reserve(1 << 14);
    for (const auto& source : *sources) {
      for (auto next = source->next(); next && *next; next = source->next()) {
        Vector& vector = vectors.emplace_back();
        vector.test_case = std::move(**next);
        vector.expected = expect(vector.test_case, Policy{});
        assess(vector.test_case, vector.expected);
        vector.modelled = diagnose::ModelledCase::prepare(vector.test_case, vector.expected.classification);
      }
    }
    add_refused_descriptions(vectors);
    return vectors;
  }();
  return all;
}

std::size_t count_noticing(const RuleMutant& mutant) {
  std::size_t count = 0;
  for (const Vector& vector : corpus()) count += mutant.notices(vector) ? 1 : 0;
  return count;
}

// Rule ids of the form C17 that follow `prefix` in a text.
void collect_rules(const std::string& text, const std::string& prefix, std::set<std::string>& rules) {
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
    std::size_t end = at + prefix.size();
    if (end >= text.size() || std::string_view("CDQX").find(text[end]) == std::string_view::npos) continue;
    const std::size_t begin = end++;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    const bool closed = end < text.size() && (text[end] == '"' || text[end] == ' ');
    if (end > begin + 1 && closed && text.compare(begin, end - begin, "Q31") != 0)
      rules.insert(text.substr(begin, end - begin));
  }
}

// Every rule that the documentation decides or the program cites.
std::set<std::string> known_rules() {
  namespace fs = std::filesystem;
  const fs::path root = QCONFORM_SOURCE_DIRECTORY;
  std::set<std::string> rules;
  for (const char* page : {"docs/numerics.md", "docs/operators/dml_quantized_linear_convolution.md"}) {
    const Result<std::string> text = read_file(root / page, 1 << 22);
    EXPECT_TRUE(text) << page;
    if (text) collect_rules(*text, "\n| ", rules);
  }
  for (const char* folder : {"reference", "harness"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
      const Result<std::string> text = read_file(entry.path(), 1 << 22);
      if (text) collect_rules(*text, "\"", rules);
    }
  }
  return rules;
}

TEST(BrokenRules, EveryRuleIsBrokenAndEveryBreachIsNoticed) {
  const bool print = std::getenv("QCONFORM_PRINT_MUTANTS") != nullptr;
  std::set<std::string> broken;
  for (const RuleMutant& mutant : rule_mutants()) {
    const std::size_t noticing = count_noticing(mutant);
    if (print) std::printf("%-10s %-64s %5zu\n", mutant.rule.c_str(), mutant.name.c_str(), noticing);
    EXPECT_GT(noticing, 0U) << mutant.rule << ": no vector notices: " << mutant.name;
    broken.insert(mutant.rule);
  }
  for (const std::string& rule : known_rules()) EXPECT_EQ(broken.count(rule), 1U) << rule << " has no mutant";
}

// The vectors agree with the rules as they are; otherwise they would "notice" anything.
TEST(BrokenRules, NothingIsNoticedWhereNothingIsBroken) {
  const diagnose::DefectModel reference;
  for (const Vector& vector : corpus()) {
    EXPECT_FALSE(vector.expected.expectation_disputed) << vector.test_case.id;
    EXPECT_FALSE(vector.expected.recorded_output_disputed) << vector.test_case.id;
    if (!vector.modelled) continue;
    const auto outputs = vector.modelled->outputs(reference);
    ASSERT_TRUE(outputs) << vector.test_case.id;
    EXPECT_FALSE(is_failure(judge(vector.expected, outcome::Produced{*outputs}).kind)) << vector.test_case.id;
  }
}

TEST(Defects, EveryOneIsKilledByTheCorpus) {
  const bool print = std::getenv("QCONFORM_PRINT_MUTANTS") != nullptr;
  for (const diagnose::Defect& defect : diagnose::defects()) {
    std::map<std::string_view, std::size_t> kills;
    for (const Vector& vector : corpus()) {
      if (!vector.modelled || !defect.operators.contains(vector.modelled->op().name)) continue;
      const std::optional<Tensor> output = vector.modelled->run(defect);
      if (!output) continue;
      if (is_failure(judge(vector.expected, outcome::Produced{*output}).kind)) ++kills[vector.modelled->op().name];
    }
    for (const std::string_view op : defect.operators) {
      if (find_operator("", op)->judges_graphs) continue;  // a suite of graphs kills these: harness/diagnose/audit
      const std::string where = std::string(defect.id) + " in " + std::string(op);
      if (print) std::printf("%-48s %5zu\n", where.c_str(), kills[op]);
      if (defect.admitted.contains(op)) {
        EXPECT_EQ(kills[op], 0U) << where << " is admitted, yet a vector condemns it";
      } else {
        EXPECT_GT(kills[op], 0U) << where << " survives the corpus";
      }
    }
  }
}

}  // namespace
}  // namespace qconform::testing
