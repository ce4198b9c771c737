#include "harness/model/defects/defect.h"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <string>

#include "harness/model/defects/expression.h"
#include "harness/model/family.h"

namespace qconform::diagnose {
namespace {

// Returns null where the entry has a function.
const Expression* expression_of(const Defect& entry) {
  static std::deque<Expression> all;
  if (entry.slot.empty()) return nullptr;
  for (const std::string_view op_type : entry.operators) {
    const ExpressionSlot* slot = find_slot(op_type, entry.slot);
    if (slot == nullptr) continue;
    auto parsed = Expression::parse(*slot, entry.computes);
    if (!parsed) throw std::logic_error(std::string(entry.id) + ": " + parsed.error().text());
    return &all.emplace_back(*std::move(parsed));
  }
  throw std::logic_error(std::string(entry.id) + ": no operator has the stage " + std::string(entry.slot));
}

void add_to(std::vector<Defect>& all, const Defect& added) {
  const Expression* expression = expression_of(added);
  const auto present =
      std::find_if(all.begin(), all.end(), [&](const Defect& defect) { return defect.id == added.id; });
  if (present == all.end()) {
    all.push_back(added);
    all.back().expression = expression;
    return;
  }
  present->operators.add(added.operators);
  present->admitted.add(added.admitted);
  if (expression != nullptr) {
    present->also_computes.add(expression);
  } else {
    present->also.add(added.replace);
  }
}

std::vector<Defect> all_defects() {
  const std::vector<Defect> common = common_defects();
  std::vector<DefectList> lists;
  for (const Family* family : families()) {
    if (family->defects == nullptr) continue;
    const auto of_family = family->defects();
    lists.insert(lists.end(), of_family.begin(), of_family.end());
  }
  lists.push_back({Topic::output, common});
  std::stable_sort(lists.begin(), lists.end(),
                   [](const DefectList& a, const DefectList& b) { return a.topic < b.topic; });
  std::vector<Defect> all;
  for (const DefectList& list : lists) {
    for (const Defect& defect : list.defects) add_to(all, defect);
  }
  return all;
}

}  // namespace

void Defect::apply(Stages& stages) const {
  if (expression != nullptr) {
    expression->slot().set(stages, *expression);
  } else {
    replace(stages);
  }
  for (const auto further : also) further(stages);
  for (const Expression* further : also_computes) further->slot().set(stages, *further);
}

namespace {

// With room for those that are added: others know defects by their addresses.
std::vector<Defect>& registered_defects() {
  static std::vector<Defect> registered = [] {
    std::vector<Defect> all = all_defects();
    all.reserve(all.size() + kMostAddedDefects);
    return all;
  }();
  return registered;
}

}  // namespace

std::span<const Defect> defects() {
  return registered_defects();
}

Result<void> add_defects(std::span<const Defect> added) {
  std::vector<Defect>& all = registered_defects();
  if (added.size() > all.capacity() - all.size())
    return fail("defects", "expected " + std::to_string(kMostAddedDefects) + " at most in all files");
  for (std::size_t i = 0; i < added.size(); ++i) {
    const auto has_id = [&](const Defect& other) { return other.id == added[i].id; };
    const auto before = added.first(i);
    if (find_defect(added[i].id) != nullptr || std::any_of(before.begin(), before.end(), has_id)) {
      return fail("defects[" + std::to_string(i) + "].id",
                  "expected an id that no other defect has, got \"" + std::string(added[i].id) + "\"");
    }
  }
  all.insert(all.end(), added.begin(), added.end());
  return {};
}

std::vector<const Defect*> defects_in(std::string_view op_type) {
  std::vector<const Defect*> known;
  for (const Defect& defect : defects()) {
    if (defect.operators.contains(op_type)) known.push_back(&defect);
  }
  return known;
}

const Defect* find_defect(std::string_view id) {
  const auto all = defects();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Defect& defect) { return defect.id == id; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<const StageInfo*> replaced_stages(const Defect& defect) {
  Stages stages;
  defect.apply(stages);
  return stages.replaced();
}

std::vector<std::string_view> stages_of(const Defect& defect) {
  std::vector<std::string_view> names;
  for (const StageInfo* stage : replaced_stages(defect)) names.push_back(stage->name);
  return names;
}

Model::Model(reference::RoundingProfile profile) {
  for (const Family* family : families()) {
    if (family->use_profile != nullptr) family->use_profile(profile, original_);
  }
}

Result<void> Model::add(const Defect& defect) {
  const std::vector<const StageInfo*> added = replaced_stages(defect);
  for (const Defect* present : defects_) {
    for (const StageInfo* stage : replaced_stages(*present)) {
      if (std::find(added.begin(), added.end(), stage) == added.end()) continue;
      return fail("", "defects " + std::string(present->id) + " and " + std::string(defect.id) +
                          " do not combine: both replace the stage " + std::string(stage->name));
    }
  }
  defects_.push_back(&defect);
  return {};
}

Stages Model::stages(std::string_view op_type) const {
  Stages stages = original_;
  for (const Defect* defect : defects_) {
    if (defect->operators.contains(op_type)) defect->apply(stages);
  }
  return stages;
}

Result<Model> pair_of(const Defect& a, const Defect& b) {
  Model model;
  for (const Defect* defect : {&a, &b}) QCONFORM_TRY(model.add(*defect));
  return model;
}

}  // namespace qconform::diagnose
