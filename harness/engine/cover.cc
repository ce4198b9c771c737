#include "harness/engine/cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "harness/base/set_cover.h"
#include "harness/engine/execute.h"
#include "harness/engine/run_suites.h"
#include "harness/forms/json/case_json.h"
#include "harness/model/draws/draws.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/model/operator.h"

namespace qconform {
namespace {

using Edges = std::vector<std::uint32_t>;  // numbers of CodeCoverage, ascending

// Whether a suite reads the case back from a case file: a mutant may have any operator, and tensors of any size.
bool can_be_kept(const Case& test_case) {
  if (operator_of(test_case) == nullptr) return false;
  const auto read = read_cases_json(case_json(test_case));
  return read && read->size() == 1 && read->front() == test_case;
}

class CoverSearch {
 public:
  CoverSearch(Backend& backend, const CoverOptions& options)
      : backend_(backend), code_(*backend.code_coverage()), options_(options), hangs_(1) {}

  Result<void> run(Suite& suite) {
    CoverStage& stage = begin_stage(suite.name());
    while (!stopped_) {
      QCONFORM_ASSIGN(auto next, suite.next());
      if (!next) break;
      add(std::move(*next), stage, suite.size());
    }
    return {};
  }

  // Mutants of cases that executed something new: what these lack is near.
  void draw() {
    if (options_.tries == 0 || new_code_.empty()) return;
    CoverStage& stage = begin_stage("drawn");
    draws_ = true;
    for (std::uint64_t i = 0; i < options_.tries && !stopped_ && !has_all(); ++i) {
      Rng rng(options_.seed, i);
      const Case& first = any_case(rng);
      Case drawn = rng.chance(1, 4) ? cross(first, any_case(rng), rng) : first;
      drawn = mutate(drawn, rng);
      drawn.id = fmt::format("cover-{}-{}", options_.seed, i);
      add(std::move(drawn), stage, options_.tries);
    }
  }

  // Writes those of the kept cases that are needed: the one that adds most first, of equals the smallest.
  void write_needed(CoverResult& result) const {
    std::vector<CoverSet> by_kills;
    std::vector<CoverSet> by_edges;
    CoverWants kills_left;
    for (const KeptCase& kept : kept_) {
      by_kills.push_back({kept.kills, kept.bytes});
      by_edges.push_back({kept.edges, kept.bytes});
      for (const std::uint32_t mutant : kept.kills) {
        std::size_t& left = kills_left[mutant];
        left = std::min(left + 1, kDetections);
      }
    }
    std::vector<std::size_t> chosen = greedy_cover(by_kills, kills_left);
    CoverWants edges_left;
    for (const std::uint32_t edge : reached_) edges_left[edge] = 1;
    for (const std::size_t position : chosen) take_from(edges_left, by_edges[position]);
    const std::vector<std::size_t> further = greedy_cover(by_edges, edges_left);
    chosen.insert(chosen.end(), further.begin(), further.end());
    for (const std::size_t position : chosen) {
      result.cases.push_back(kept_[position].test_case);
      result.computed.push_back(kept_[position].computed);
    }
  }

  // How many edges the cases do not execute in a process of their own order.
  [[nodiscard]] std::uint64_t lost_by(const std::vector<Case>& cases) {
    std::set<std::uint32_t> left = reached_;
    for (const Case& test_case : cases) {
      for (const std::uint32_t edge : executed_by(test_case)) left.erase(edge);
    }
    return left.size();
  }

  [[nodiscard]] Edges reached() const {
    Edges edges(reached_.begin(), reached_.end());
    const Edges& loading = code_.executed_by_loading();
    edges.insert(edges.end(), loading.begin(), loading.end());
    return edges;
  }
  [[nodiscard]] std::vector<CoverStage> stages() const { return stages_; }

 private:
  struct KeptCase {
    Case test_case;
    std::vector<std::uint32_t> edges;
    std::vector<std::uint32_t> kills;  // numbers of mutants
    std::size_t bytes;
    bool computed;
  };
  CoverStage& begin_stage(std::string name) {
    for (CoverStage& stage : stages_) {
      if (stage.name == name) return stage;
    }
    return stages_.emplace_back(CoverStage{std::move(name), 0, 0});
  }

  [[nodiscard]] bool has_all() const {
    const auto edges = code_.edges();
    return edges && reached_.size() + code_.executed_by_loading().size() == *edges;
  }

  const Case& any_case(Rng& rng) const {
    return kept_[new_code_[rng.below(static_cast<std::uint32_t>(new_code_.size()))]].test_case;
  }

  Edges executed_by(const Case& test_case) {
    code_.forget();
    Worker& worker = *backend_.worker();
    worker.start(test_case);
    const Outcome outcome = worker.finish();
    stopped_ = hangs_.is_too_much(0, std::holds_alternative<outcome::TimedOut>(outcome));
    computed_ = std::holds_alternative<outcome::Produced>(outcome);
    return code_.executed();
  }

  void add(Case test_case, CoverStage& stage, std::optional<std::uint64_t> of) {
    Edges edges = executed_by(test_case);
    ++stage.cases;
    const auto is_new = [&](std::uint32_t edge) { return !reached_.contains(edge); };
    const auto count = static_cast<std::uint64_t>(std::count_if(edges.begin(), edges.end(), is_new));
    const bool kills = computed_ && !draws_ && options_.kills && !options_.kills(test_case, settled_).empty();
    if ((count > 0 || kills) && can_be_kept(test_case)) {
      stage.edges += count;
      reached_.insert(edges.begin(), edges.end());
      if (count > 0) new_code_.push_back(kept_.size());
      keep(std::move(test_case), std::move(edges));
    }
    if (options_.progress) options_.progress({.suite = stage.name, .cases = stage.cases, .of = of});
  }

  void keep(Case test_case, Edges edges) {
    std::vector<std::uint32_t> kills;
    if (computed_ && options_.kills) kills = options_.kills(test_case, {});
    for (const std::uint32_t mutant : kills) {
      if (++detections_[mutant] == kDetections) settled_.insert(mutant);
    }
    const std::size_t bytes = input_bytes(test_case);
    kept_.push_back({std::move(test_case), std::move(edges), std::move(kills), bytes, computed_});
  }

  Backend& backend_;
  CodeCoverage& code_;
  const CoverOptions& options_;
  HangWatch hangs_;
  bool stopped_ = false;
  bool computed_ = false;  // the last case
  bool draws_ = false;     // towards edges: what a drawn case kills does not matter
  std::vector<CoverStage> stages_;
  std::vector<KeptCase> kept_;
  std::vector<std::size_t> new_code_;  // places in kept_ of those that executed something new
  std::set<std::uint32_t> reached_;
  std::map<std::uint32_t, std::size_t> detections_;  // by mutant, kept cases that kill it
  std::set<std::uint32_t> settled_;                  // mutants that enough of them kill
};

}  // namespace

Result<CoverResult> cover(Backend& backend, std::vector<std::unique_ptr<Suite>>& suites, const CoverOptions& options) {
  CodeCoverage& code = *backend.code_coverage();
  CoverSearch search(backend, options);
  for (const auto& suite : suites) QCONFORM_TRY(search.run(*suite));
  search.draw();

  CoverResult result;
  result.backend = backend.info().name;
  result.seed = options.seed;
  result.stages = search.stages();
  search.write_needed(result);
  result.kept = result.cases.size();
  result.lost = search.lost_by(result.cases);
  result.executed = search.reached().size();
  result.by_loading = code.executed_by_loading().size();
  const auto map = CodeMap::of(code);
  if (!map && !code.edges()) return tl::unexpected(map.error());
  result.edges = map ? map->edges() : *code.edges();
  if (!map) {
    result.no_lines = map.error().text();
  } else if (!map->has_lines()) {
    result.no_lines = "the plugin has no debug information (-g), or was built without pc-table";
  } else {
    SourceCoverage source = map->source(code, search.reached());
    result.files = std::move(source.files);
    result.functions = std::move(source.functions);
  }
  return result;
}

std::optional<ExecutedCode> executed_code(Backend& backend) {
  const CodeCoverage* code = backend.code_coverage();
  if (code == nullptr) return std::nullopt;
  const std::uint64_t executed = code->executed().size() + code->executed_by_loading().size();
  if (const auto edges = code->edges()) return ExecutedCode{executed, *edges};
  const auto map = CodeMap::of(*code);
  if (!map) return std::nullopt;
  return ExecutedCode{executed, map->edges()};
}

}  // namespace qconform
