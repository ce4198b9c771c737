#include "harness/diagnose/explain/campaign_diagnosis.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "harness/diagnose/explain/experiment.h"

namespace qconform::diagnose {
namespace {

template <typename T>
void append(std::vector<T>& list, std::vector<T>& more) {
  std::move(more.begin(), more.end(), std::back_inserter(list));
}

template <typename T>
bool is_among(const std::vector<T>& list, const T& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

}  // namespace

void RelatedFailures::note(const Observation& observation) {
  const std::uint64_t number = examined++;
  evidence += observation.has_wrong_shape() ? kEvidence : std::min(kEvidence, observation.wrong_elements());
  const CaseTraits features = features_of(observation.test_case(), observation.expected());
  if (failing.size() < kLearnt) {
    failing.push_back(features);
  } else {
    failing[number % kLearnt] = features;
  }
  const bool is_due = kept.size() < kKept || std::has_single_bit(number);
  if (!is_due || observation.modelled().expense() > kKeptExpense) return;
  auto copy = observation.copy();
  if (copy == nullptr) return;
  if (kept.size() < kKept) {
    kept.push_back(std::move(copy));
  } else {
    constexpr std::size_t kReplaced = kKept / 2;
    kept[kReplaced + static_cast<std::size_t>(std::countr_zero(number)) % kReplaced] = std::move(copy);
  }
}

void RelatedFailures::take_over(RelatedFailures other) {
  examined += other.examined;
  evidence += other.evidence;
  append(failing, other.failing);
  if (failing.size() > kLearnt) failing.resize(kLearnt);
  append(kept, other.kept);
}

void describe_place(FailureGroup& group) {
  std::vector<const Observation*> kept;
  for (const auto& observation : group.failures.kept) kept.push_back(observation.get());
  const Pattern pattern = pattern_of(kept);
  group.where = group.cause && group.explanation ? group.explanation->place().description : pattern.description;
  if (!group.cause)
    group.signature = group.failing_part.empty() ? kUnexplained + std::string(pattern.id) : group.failing_part;
}

Causes::Causes(const Operator& op, const Policy& policy, const Arithmetic* base)
    : test_(op, policy, base), known_(defects_in(op.name)) {}

void Causes::passed(const Observation& observation) {
  if (!wants_passed() || observation.modelled().expense() > RelatedFailures::kKeptExpense) return;
  if (auto copy = observation.copy()) passed_.push_back(std::move(copy));
}

Causes::Part& Causes::part_of(const std::string& signature) {
  const auto found =
      std::find_if(parts_.begin(), parts_.end(), [&](const auto& part) { return part.first == signature; });
  if (found != parts_.end()) return found->second;
  return parts_.emplace_back(signature, Part{}).second;
}

// A set that adds defects to one that suffices is no cause of it. Early failures are held against every cause, which
// decides between those that reproduce the same; later ones against the commonest first, until one reproduces them.
std::vector<std::size_t> Causes::claims_on(const Observation& observation) {
  std::vector<std::size_t> order(causes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return causes_[a].cases > causes_[b].cases; });
  std::vector<std::size_t> claims;
  for (const std::size_t cause : order) {
    if (!reproduces(cause, observation)) continue;
    claims.push_back(cause);
    if (claimed_ >= kClaimedThoroughly) break;
  }
  if (claims.size() == 1) {
    for (std::size_t i = 0; i < causes_.size(); ++i) {
      const bool suffices = is_part(i, claims[0]) && reproduces(i, observation);
      if (suffices) claims[0] = i;
    }
  }
  drop_larger(claims);
  std::sort(claims.begin(), claims.end());
  for (const std::size_t cause : claims) ++causes_[cause].cases;
  claimed_ += claims.empty() ? 0 : 1;
  return claims;
}

bool Causes::is_part(std::size_t cause, std::size_t of) const {
  const auto& defects = causes_[cause].set.defects;
  const auto& all = causes_[of].set.defects;
  return defects.size() < all.size() &&
         std::all_of(defects.begin(), defects.end(), [&](const Defect* defect) { return is_among(all, defect); });
}

const Explanation* Causes::explanation_of_whole(std::size_t cause) const {
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    const auto& explanation = causes_[i].explanation;
    if (explanation && explanation->status == Status::explained && is_part(cause, i)) return &*explanation;
  }
  return nullptr;
}

void Causes::drop_larger(std::vector<std::size_t>& claims) const {
  const std::vector<std::size_t> all = claims;
  std::erase_if(claims, [&](std::size_t cause) {
    return std::any_of(all.begin(), all.end(), [&](std::size_t other) { return is_part(other, cause); });
  });
}

bool Causes::reproduces(std::size_t cause, const Observation& observation) const {
  return causes_[cause].models.match(test_, observation).holds;
}

std::optional<WrongPlace> Causes::values_of(const FailureGroup& group) const {
  std::vector<const Observation*> failing;
  std::vector<const Observation*> passing;
  for (const auto& observation : group.failures.kept) failing.push_back(observation.get());
  for (const auto& observation : passed_) passing.push_back(observation.get());
  return wrong_values(failing, passing);
}

std::vector<const Observation*> Causes::contradicting(std::size_t cause) const {
  std::vector<const Observation*> found;
  for (const auto& passed : passed_) {
    if (!causes_[cause].models.may_be_right_on(*passed)) found.push_back(passed.get());
  }
  return found;
}

bool Causes::is_right_on(std::size_t cause, const Observation& observation) const {
  return causes_[cause].models.may_be_right_on(observation);
}

bool Causes::is_explained(const Observation& observation) const {
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    const auto& explanation = causes_[i].explanation;
    if (explanation && explanation->status == Status::explained && reproduces(i, observation)) return true;
  }
  return false;
}

std::string Causes::claim(const Observation& observation) {
  const std::uint64_t before = test_.work();
  std::vector<std::size_t> claims = claims_on(observation);
  claim_work_ += test_.work() - before;
  if (claims.empty()) return {};
  std::string signature = "causes";
  for (const std::size_t cause : claims) signature += " " + std::to_string(cause);
  Part& part = part_of(signature);
  part.causes = std::move(claims);
  part.failures.note(observation);
  return signature;
}

std::optional<std::string> Causes::keep_open(const Observation& observation) {
  if (open_ >= kOpen) return std::nullopt;
  std::string signature = "open " + std::to_string(open_++);
  Part& part = part_of(signature);
  part.compared = causes_.size();
  part.failures.note(observation);
  return signature;
}

const Causes::Part* Causes::find_part(const std::string& signature) const {
  const auto found =
      std::find_if(parts_.begin(), parts_.end(), [&](const auto& part) { return part.first == signature; });
  return found == parts_.end() ? nullptr : &found->second;
}

bool Causes::has_cause(const std::string& signature) const {
  const Part* part = find_part(signature);
  return part != nullptr && !part->causes.empty();
}

void Causes::give(std::size_t cause, const std::string& signature) {
  std::vector<std::size_t>& causes = part_of(signature).causes;
  if (!is_among(causes, cause)) causes.push_back(cause);
}

bool Causes::has_given(const std::string& signature) const {
  return find_part(signature) != nullptr;
}

std::size_t Causes::add(DefectSet set, std::optional<Explanation> explanation) {
  std::sort(set.defects.begin(), set.defects.end());  // in the order of defects(), so that a set has one name
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    Cause& cause = causes_[i];
    if (cause.set.defects != set.defects) continue;
    const bool is_better = explanation && (!cause.explanation || explanation->status < cause.explanation->status);
    if (is_better) cause.explanation = std::move(explanation);
    return i;
  }
  CandidateModels models(test_, set);
  causes_.push_back({std::move(set), std::move(models), std::move(explanation), 0});
  const std::size_t added = causes_.size() - 1;
  claimed_ = 0;
  give_to(added);
  add_parts(added);
  return added;
}

// Fewer of its defects may also have failures to themselves.
void Causes::add_parts(std::size_t cause) {
  const std::vector<const Defect*> defects = causes_[cause].set.defects;
  if (defects.size() < 2) return;
  for (const Defect* left_out : defects) {
    DefectSet part{defects};
    std::erase(part.defects, left_out);
    add(std::move(part), std::nullopt);
  }
}

// Failures that are known by their number alone cannot be compared with it.
void Causes::give_to(std::size_t cause) {
  for (auto& [signature, part] : parts_) {
    const Evidence& kept = part.failures.kept;
    const bool has_all =
        part.failures.are_all_kept() &&
        std::all_of(kept.begin(), kept.end(), [&](const auto& observation) { return reproduces(cause, *observation); });
    if (!has_all || is_among(part.causes, cause)) continue;
    part.causes.push_back(cause);
    drop_larger(part.causes);
  }
}

std::vector<const Observation*> Causes::smallest_open() const {
  std::vector<const Observation*> open;
  for (const auto& [signature, part] : parts_) {
    if (!part.causes.empty()) continue;
    for (const auto& observation : part.failures.kept) open.push_back(observation.get());
  }
  std::stable_sort(open.begin(), open.end(), [](const Observation* a, const Observation* b) {
    return a->modelled().expense() < b->modelled().expense();
  });
  if (open.size() > kSearchedIn) open.resize(kSearchedIn);
  return open;
}

// As many of the smallest as every defect can be tried on for the work of a search.
void Causes::leave_to_search(std::vector<const Observation*>& open) const {
  constexpr std::size_t kFewestSearchedIn = 8;
  const std::uint64_t most = kSearchWork / std::max<std::uint64_t>(known_.size(), 1);
  std::uint64_t work = 0;
  std::size_t left = 0;
  for (; left < open.size(); ++left) {
    work += open[left]->modelled().expense();
    if (work > most && left >= kFewestSearchedIn) break;
  }
  open.resize(left);
}

void Causes::find() {
  std::vector<const Observation*> passing;
  for (std::size_t i = 0; i < std::min(passed_.size(), kSearchedIn); ++i) passing.push_back(passed_[i].get());
  while (search_work_ < kAllSearchWork) {
    std::vector<const Observation*> open = smallest_open();
    if (open.empty()) return;
    leave_to_search(open);
    const std::uint64_t before = test_.work();
    auto set = most_reproducing(test_, open, passing, known_, kSearchWork);
    search_work_ += test_.work() - before;
    if (!set) return;
    add(std::move(*set), std::nullopt);
  }
}

void Causes::find_singles() {
  std::vector<const Part*> open;
  for (const auto& [signature, part] : parts_) {
    if (part.causes.empty() && !part.failures.kept.empty()) open.push_back(&part);
  }
  const auto expense = [](const Part* part) { return part->failures.kept.front()->modelled().expense(); };
  std::stable_sort(open.begin(), open.end(), [&](const Part* a, const Part* b) { return expense(a) < expense(b); });
  std::vector<std::vector<const Part*>> reproduced(known_.size());
  std::vector<CandidateModels> models;
  for (const Defect* defect : known_) models.emplace_back(test_, DefectSet{{defect}});
  const std::uint64_t begin = test_.work();
  for (const Part* part : open) {
    if (test_.work() - begin >= kSingleWork) break;
    const Evidence& kept = part->failures.kept;
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const auto matches = [&](const auto& failure) { return models[i].match(test_, *failure).holds; };
      if (std::all_of(kept.begin(), kept.end(), matches)) reproduced[i].push_back(part);
    }
  }
  std::vector<std::size_t> order(known_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return reproduced[a].size() > reproduced[b].size(); });
  for (const std::size_t i : order) {
    const auto left = std::count_if(reproduced[i].begin(), reproduced[i].end(),
                                    [](const Part* part) { return part->causes.empty(); });
    if (left >= kFewestOfASingle) add({{known_[i]}}, std::nullopt);
  }
}

// The cause of the most cases: where several have as many, the best explained, and of these the smallest set.
std::optional<std::size_t> Causes::commonest_of(const std::vector<Part*>& parts) const {
  std::vector<std::uint64_t> cases(causes_.size());
  for (const Part* part : parts) {
    for (const std::size_t cause : part->causes) cases[cause] += part->failures.examined;
  }
  const auto rank = [&](std::size_t i) {
    const Cause& cause = causes_[i];
    const Status status = cause.explanation ? cause.explanation->status : Status::partial;
    return std::tuple(~cases[i], status, cause.set.defects.size(), i);
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    if (cases[i] > 0 && (!best || rank(i) < rank(*best))) best = i;
  }
  return best;
}

std::optional<DefectSet> Causes::fitting_all(std::size_t cause, const Evidence& kept) const {
  DefectSet set = causes_[cause].set;
  if (kept.empty()) return std::nullopt;
  for (std::size_t i = 0; i < test_.choices_for(set); ++i) {
    const NodeModels model = test_.model_of(set, i);
    const bool has_all = std::all_of(kept.begin(), kept.end(), [&](const auto& observation) {
      return test_.outcome_of(model, *observation).is_exact();
    });
    set.arithmetic = i;
    if (has_all) return set;
  }
  return std::nullopt;
}

std::optional<SeparatingCase> Causes::experiment(std::size_t cause, const Evidence& kept) const {
  const DefectSet named = fitting_all(cause, kept).value_or(causes_[cause].set);
  std::vector<const Observation*> observed;
  for (const auto& failure : kept) observed.push_back(failure.get());
  for (const auto& passed : passed_) observed.push_back(passed.get());
  return experiment_on(test_, named, observed, known_);
}

FailureGroup Causes::begin_group(std::size_t cause) const {
  const Cause& from = causes_[cause];
  FailureGroup group;
  group.cause = cause;
  group.explanation = from.explanation;
  group.signature = from.explanation ? from.explanation->signature() : "partial:" + from.set.name();
  group.status = from.explanation ? from.explanation->status : Status::partial;
  return group;
}

std::vector<FailureGroup> Causes::take_groups(const std::optional<Explanation>& unexplained,
                                              const std::map<std::string, std::string>& failing_parts) {
  std::vector<FailureGroup> groups;
  std::vector<Part*> left;
  for (auto& [signature, part] : parts_) left.push_back(&part);
  const auto move_to = [&](FailureGroup group, const auto& belongs) {
    for (auto& [signature, part] : parts_) {
      const auto at = std::find(left.begin(), left.end(), &part);
      if (at == left.end() || !belongs(signature, part)) continue;
      left.erase(at);
      group.parts.push_back(signature);
      group.failures.take_over(std::move(part.failures));
    }
    if (group.parts.empty()) return;
    describe_place(group);
    groups.push_back(std::move(group));
  };
  while (const auto cause = commonest_of(left)) {
    move_to(begin_group(*cause), [&](const std::string&, const Part& part) { return is_among(part.causes, *cause); });
  }
  std::set<std::string> names;
  for (const auto& [signature, failing_part] : failing_parts) names.insert(failing_part);
  for (const std::string& name : names) {
    FailureGroup group;
    group.failing_part = name;
    move_to(std::move(group), [&](const std::string& signature, const Part&) {
      const auto found = failing_parts.find(signature);
      return found != failing_parts.end() && found->second == name;
    });
  }
  move_to(FailureGroup(), [](const std::string&, const Part& part) {
    return !part.failures.kept.empty() && part.failures.kept[0]->has_wrong_shape();
  });
  FailureGroup values;
  values.explanation = unexplained;
  if (unexplained) values.status = unexplained->status;
  const bool is_none_known = groups.empty();
  move_to(std::move(values), [&](const std::string&, const Part& part) {
    return is_none_known || part.failures.are_all_kept() || part.compared == causes_.size();
  });
  return groups;
}

}  // namespace qconform::diagnose
