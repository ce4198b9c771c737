#include "harness/diagnose/identify/identify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/model/defects/diagnosed_case.h"
#include "harness/model/text.h"

namespace qconform::diagnose {
namespace {

// After so many cases in a row that eliminated nothing, what is left is the answer; after more of them
// where it is told from the nearest eliminated candidate by a few elements only.
constexpr int kIdleCases = 24;
constexpr int kIdleCasesInDoubt = 96;
// Idle cases that end an experiment while several candidates are left: they may differ on few cases.
constexpr int kIdleCasesOfSeveral = 192;
constexpr std::uint64_t kFewElements = 5;

bool settles(const Hypothesis& hypothesis, const Choice& choice) {
  const auto& variants = hypothesis.candidate.variants;
  return std::any_of(variants.begin(), variants.end(),
                     [&](const Variant* variant) { return variant->settles == choice.id; });
}

std::vector<Hypothesis> combinations(const std::vector<const Choice*>& choices, const std::vector<Stages>& bases) {
  std::vector<Hypothesis> all{{{}, bases}};
  for (const Choice* const choice : choices) {
    std::vector<Hypothesis> extended;
    for (const Hypothesis& shorter : all) {
      for (const Variant& variant : choice->variants) {
        extended.push_back(shorter);
        extended.back().candidate.variants.push_back(&variant);
        for (Stages& stages : extended.back().stages) variant.replace(stages);
        if (settles(shorter, *choice)) break;
      }
    }
    all = std::move(extended);
  }
  return all;
}

// The choice in which they differ, if it is one.
std::optional<std::size_t> difference(const Candidate& a, const Candidate& b) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < a.variants.size(); ++i) {
    if (a.variants[i] == b.variants[i]) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::size_t draw_below(Rng& rng, std::size_t bound) {
  return static_cast<std::size_t>(rng.below(static_cast<std::uint32_t>(bound)));
}

std::uint64_t raw_of(const Tensor& tensor, std::size_t i) {
  return raw_bits_at(tensor.bytes, bits_of(tensor.type), static_cast<std::int64_t>(i));
}

// Counts for and against the candidate; whether this was the first element against it.
bool compare(const Case& test_case, const Tensor& got, const Tensor& predicted, const std::vector<bool>& discriminates,
             Candidate& candidate) {
  const bool survived = candidate.survives();
  std::uint64_t right = 0;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < discriminates.size(); ++i) {
    if (raw_of(got, i) == raw_of(predicted, i)) {
      right += discriminates[i] ? 1 : 0;
    } else if (++wrong == 1 && survived) {
      const auto element = static_cast<std::int64_t>(i);
      candidate.refutation = {test_case, element, element_text(got, element), element_text(predicted, element)};
    }
  }
  candidate.confirmed_elements += right;
  candidate.confirmed_cases += right > 0 ? 1 : 0;
  candidate.refuted_elements += wrong;
  candidate.refuted_cases += wrong > 0 ? 1 : 0;
  return survived && wrong > 0;
}

}  // namespace

NextPairs::NextPairs(const std::vector<Hypothesis>& hypotheses, std::size_t base) : base_(base) {
  for (const Hypothesis& h : hypotheses) (h.candidate.survives() ? left_ : eliminated_).push_back(&h);
  const auto fewer = [](const Hypothesis* a, const Hypothesis* b) {
    return a->candidate.refuted_elements < b->candidate.refuted_elements;
  };
  std::stable_sort(eliminated_.begin(), eliminated_.end(), fewer);
}

NextPairs::Pair NextPairs::next(Rng& rng) const {
  if (left_.empty()) return {nullptr, nullptr};
  const std::size_t first = draw_below(rng, left_.size());
  if (left_.size() > 1) {
    const std::size_t second = (first + 1 + draw_below(rng, left_.size() - 1)) % left_.size();
    return {&left_[first]->stages[base_], &left_[second]->stages[base_]};
  }
  if (eliminated_.empty()) return {nullptr, nullptr};
  constexpr std::size_t kNearest = 4;
  const std::size_t of = rng.chance(1, 2) ? std::min(kNearest, eliminated_.size()) : eliminated_.size();
  return {&left_[0]->stages[base_], &eliminated_[draw_below(rng, of)]->stages[base_]};
}

NeighbourPairs::NeighbourPairs(const std::vector<Hypothesis>& hypotheses, std::size_t base) : base_(base) {
  for (const Hypothesis& h : hypotheses) {
    if (left_ == nullptr && h.candidate.survives()) left_ = &h;
  }
  if (left_ == nullptr) return;
  others_.resize(left_->candidate.variants.size());
  for (const Hypothesis& h : hypotheses) {
    if (const auto choice = difference(left_->candidate, h.candidate)) others_[*choice].push_back(&h);
  }
  std::erase_if(others_, [](const auto& others) { return others.empty(); });
}

NeighbourPairs::Pair NeighbourPairs::next(Rng& rng) const {
  if (others_.empty()) return {nullptr, nullptr};
  const auto& others = others_[draw_below(rng, others_.size())];
  return {&left_->stages[base_], &others[draw_below(rng, others.size())]->stages[base_]};
}

Elimination::Elimination(const Experiment& experiment, const std::vector<Stages>& bases) {
  answer_.op_type = experiment.op_type;
  for (const std::string& id : experiment.choices) answer_.choices.push_back(find_choice(experiment.op_type, id));
  hypotheses_ = combinations(answer_.choices, bases);
  for (std::size_t i = 0; i < hypotheses_.size(); ++i) watched_.push_back(i);
}

void Elimination::watch_neighbours() {
  watched_.clear();
  for (std::size_t i = 0; i < hypotheses_.size(); ++i) {
    const Candidate& candidate = hypotheses_[i].candidate;
    const bool is_near = std::any_of(hypotheses_.begin(), hypotheses_.end(), [&](const Hypothesis& other) {
      return other.candidate.survives() && difference(candidate, other.candidate);
    });
    if (candidate.survives() || is_near) watched_.push_back(i);
  }
}

bool Elimination::predict(const Case& test_case, std::size_t base) {
  const auto modelled = ModelledCase::prepare(test_case);
  if (modelled == nullptr) return false;
  predictions_.clear();
  for (const std::size_t h : watched_) predictions_.push_back(*modelled->run(hypotheses_[h].stages[base]));
  return std::any_of(predictions_.begin(), predictions_.end(),
                     [&](const Tensor& prediction) { return prediction != predictions_.front(); });
}

// The elements on which candidates disagree.
std::vector<bool> Elimination::discriminating_elements() const {
  std::vector<bool> discriminates(static_cast<std::size_t>(predictions_.front().elements()));
  for (std::size_t i = 0; i < discriminates.size(); ++i) {
    discriminates[i] = std::any_of(predictions_.begin(), predictions_.end(),
                                   [&](const Tensor& p) { return raw_of(p, i) != raw_of(predictions_.front(), i); });
  }
  return discriminates;
}

bool Elimination::eliminate(const Case& test_case, const Tensor& got) {
  if (got.type != predictions_.front().type || got.shape != predictions_.front().shape) return false;
  const std::vector<bool> discriminates = discriminating_elements();
  bool is_news = false;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Candidate& candidate = hypotheses_[watched_[i]].candidate;
    is_news = compare(test_case, got, predictions_[i], discriminates, candidate) || is_news;
  }
  ++answer_.cases;
  answer_.elements += discriminates.size();
  return is_news;
}

bool Elimination::is_over(int idle) const {
  const bool in_doubt = std::any_of(hypotheses_.begin(), hypotheses_.end(), [](const Hypothesis& h) {
    return !h.candidate.survives() && h.candidate.refuted_elements < kFewElements;
  });
  if (left() > 1) return idle >= kIdleCasesOfSeveral;
  return left() == 0 || idle >= (in_doubt ? kIdleCasesInDoubt : kIdleCases);
}

std::size_t Elimination::left() const {
  return static_cast<std::size_t>(std::count_if(hypotheses_.begin(), hypotheses_.end(),
                                                [](const Hypothesis& h) { return h.candidate.survives(); }));
}

Answer Elimination::take(std::vector<ProbeForm> forms) {
  answer_.forms = std::move(forms);
  for (Hypothesis& h : hypotheses_) answer_.candidates.push_back(std::move(h.candidate));
  return std::move(answer_);
}

}  // namespace qconform::diagnose
