// Every vector that docs/bugs-found.md names: it fails on the release that has the defect, and whoever has not the
// defect passes it, by an answer that proves so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/libraries/libraries.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/core/limits.h"
#include "harness/engine/execute.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/suites/select.h"

namespace qconform::libraries {
namespace {

// The heading of a section, the version that it speaks of, and the backends that have its defects.
struct Section {
  std::string_view heading;
  std::string_view version;
  std::vector<std::string> backends;
};

std::vector<Section> sections() {
  return {{"## ONNX Runtime 1.30.0",
           "1.30.0",
           {"onnxruntime", "onnxruntime@symbolic-shapes", "onnxruntime@unknown-shapes"}},
          {"### Quantized graphs",
           "1.30.0",
           {"onnxruntime@all", "onnxruntime@extended", "onnxruntime@basic", "onnxruntime@disabled"}},
          {"## oneDNN 2.6.3", "2.6.3", {"onednn", "onednn@avx2", "onednn@avx512_core", "onednn@avx512_core_vnni"}},
          {"### oneDNN's graphs", "3.12.1", {"onednn:3.12.1@graph"}},
          {"## XNNPACK 0.0", "0.0~git20220216.ae108ef", {"xnnpack"}},
          {"### XNNPACK's units", "0.0~git20220216.ae108ef", {"xnnpack@subgraph"}},
          {"## OpenCV DNN 4.6.0", "4.6.0", {"opencv"}}};
}

// A row of a section's table.
struct SectionRow {
  std::vector<std::string> ids;
  bool depends = false;  ///< on another processor, release or option, or on memory as it was
};

// The names in backquotes of the first cell.
SectionRow row_of(std::string_view line) {
  SectionRow row;
  for (const char* word : {"--cpu", "2024-11-08", "from run to run", "never written", "@avx2_vnni"}) {
    row.depends = row.depends || line.find(word) != std::string_view::npos;
  }
  std::string_view cell = line.substr(2, line.find(" |", 2) - 2);
  for (std::size_t begin = cell.find('`'); begin != std::string_view::npos; begin = cell.find('`')) {
    cell.remove_prefix(begin + 1);
    const std::size_t end = cell.find('`');
    if (end == std::string_view::npos) break;
    row.ids.emplace_back(cell.substr(0, end));
    cell.remove_prefix(end + 1);
  }
  return row;
}

// The rows of all tables below a heading, up to the next one.
std::vector<SectionRow> rows_below(std::string_view page, std::string_view heading) {
  std::vector<SectionRow> rows;
  bool is_inside = false;
  while (!page.empty()) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(std::min(page.size(), line.size() + 1));
    if (line.starts_with("#")) is_inside = line.starts_with(heading);
    if (is_inside && line.starts_with("| `")) rows.push_back(row_of(line));
  }
  return rows;
}

const std::multimap<std::string, Case>& corpus() {
  static const std::multimap<std::string, Case> cases = [] {
    std::multimap<std::string, Case> all;
    auto sources = open_suite("corpus", {});
    EXPECT_TRUE(sources) << (sources ? "" : sources.error().text());
    for (std::size_t i = 0; sources && i < sources->size(); ++i) {
      Suite& source = *(*sources)[i];
      for (auto next = source.next(); next && *next; next = source.next()) all.emplace((*next)->id, std::move(**next));
    }
    return all;
  }();
  return cases;
}

// With that id, or with it and the operator's version behind it.
std::vector<const Case*> vectors_named(const std::string& id) {
  std::vector<const Case*> cases;
  for (auto found = corpus().lower_bound(id); found != corpus().end() && found->first.starts_with(id); ++found) {
    const std::string_view rest = std::string_view(found->first).substr(id.size());
    const bool is_version = rest.starts_with("-v") && rest.find_first_not_of("0123456789", 2) == std::string_view::npos;
    if (rest.empty() || is_version) cases.push_back(&found->second);
  }
  return cases;
}

std::string page() {
  const auto text = read_file(std::filesystem::path(QCONFORM_SOURCE_DIRECTORY) / "docs/bugs-found.md", 1 << 22);
  EXPECT_TRUE(text) << (text ? "" : text.error().text());
  return text ? *text : "";
}

std::unique_ptr<Backend> open(const std::string& name) {
  backend::offer_libraries(libraries());
  auto backend = backend::select(name, RoundingProfile::correctly_rounded);
  return backend ? std::move(*backend) : nullptr;
}

Verdict verdict_on(const Case& vector, Backend& backend) {
  GuardedOutput output;
  Expected expected = expect(vector, {});
  assess(vector, expected);
  EXPECT_FALSE(expected.defect_disputed) << vector.id;
  return judge(expected, execute(backend, vector, output));
}

bool is_passed(const Verdict& verdict, const Case& vector) {
  return verdict.kind == VerdictKind::pass ||
         (verdict.kind == VerdictKind::refused && classify(vector).expectation() == Expectation::invalid);
}

TEST(Reproducers, PassJudgedWhereTheDefectIsNot) {
  const std::string text = page();
  const auto scalar = open("scalar");
  std::vector<std::unique_ptr<Backend>> of_graphs;
  for (const char* name : {"interpreter", "fused", "onnxruntime@disabled"}) {
    if (auto backend = open(name)) of_graphs.push_back(std::move(backend));
  }
  std::size_t judged = 0;
  for (const Section& section : sections()) {
    for (const SectionRow& row : rows_below(text, section.heading)) {
      for (const std::string& id : row.ids) {
        for (const Case* vector : vectors_named(id)) {
          const bool is_graph = is_judged_as_graph(*vector);
          for (std::size_t i = 0; i < (is_graph ? of_graphs.size() : 1); ++i) {
            Backend& right = is_graph ? *of_graphs[i] : *scalar;
            // An element that no kernel writes differs from run to run, with optimization and without.
            if (right.info().name.starts_with("onnxruntime") && id.find("no-terms") != std::string::npos) continue;
            const Verdict verdict = verdict_on(*vector, right);
            EXPECT_TRUE(is_passed(verdict, *vector))
                << id << " on " << right.info().name << ": " << name_of(verdict.kind) << ": " << verdict.detail;
            ++judged;
          }
        }
      }
    }
  }
  EXPECT_GT(judged, 150U);
}

// ONNX Runtime computes these operators one by one without optimization. Releases that lack one decline it.
TEST(Reproducers, AgreeOnAttentionWithOnnxRuntime) {
  backend::offer_libraries(libraries());
  const auto opened = backend::select("onnxruntime@disabled", RoundingProfile::correctly_rounded);
  if (!opened) GTEST_SKIP() << opened.error().text();
  Backend& plain = **opened;
  const std::set<std::string_view> operators{"Attention", "Einsum", "QAttention", "RotaryEmbedding"};
  std::size_t computed = 0;
  for (const auto& [id, vector] : corpus()) {
    const bool is_one = std::any_of(vector.nodes.begin(), vector.nodes.end(),
                                    [&](const Node& node) { return operators.contains(node.op_type); });
    if (!is_one || id == "attention-causal-one-query") continue;  // docs/bugs-found.md has that one
    const Verdict verdict = verdict_on(vector, plain);
    if (verdict.kind == VerdictKind::unsupported) continue;
    EXPECT_TRUE(is_passed(verdict, vector)) << id << ": " << name_of(verdict.kind) << ": " << verdict.detail;
    ++computed;
  }
  EXPECT_GT(computed, 0U);
}

// Whether one of the vectors of that name fails on one of the backends.
bool fails(const std::string& id, const std::vector<std::unique_ptr<Backend>>& backends) {
  for (const Case* vector : vectors_named(id)) {
    for (const auto& backend : backends) {
      const VerdictKind kind = verdict_on(*vector, *backend).kind;
      if (is_failure(kind) || kind == VerdictKind::unsupported) return true;
    }
  }
  return false;
}

class ReproducersOf : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ReproducersOf, FailWhereTheDefectIs) {
  const Section section = sections()[GetParam()];
  std::vector<std::unique_ptr<Backend>> backends;
  for (const std::string& name : section.backends) {
    auto backend = open(name);
    if (backend && backend->info().version == section.version) backends.push_back(std::move(backend));
  }
  if (backends.empty()) GTEST_SKIP() << section.backends.front() << " " << section.version << " is not here";
  std::size_t failing = 0;
  for (const SectionRow& row : rows_below(page(), section.heading)) {
    for (const std::string& id : row.ids) {
      if (vectors_named(id).empty()) continue;  // an option, a file
      const bool is_wrong = fails(id, backends);
      failing += is_wrong ? 1 : 0;
      if (row.depends && !is_wrong) std::printf("skipped: %s: not with this processor and release\n", id.c_str());
      EXPECT_TRUE(is_wrong || row.depends) << id << " passes on every one of " << section.backends.front() << ", ...";
    }
  }
  EXPECT_GT(failing, 0U);
}

INSTANTIATE_TEST_SUITE_P(Sections, ReproducersOf, ::testing::Range<std::size_t>(0, 7));

}  // namespace
}  // namespace qconform::libraries
