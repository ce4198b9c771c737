#include <algorithm>

#include "harness/model/family.h"
#include "harness/model/relations/relation.h"

namespace qconform::relations {
namespace {

Applied repeat(const RelationSubject& subject) {
  Case again = *subject.base;
  again.id += "/repeated";
  return same_output(std::move(again));
}

constexpr FamilyRelation kRepeated{{RelationTopic::repetition, "repeated",
                                    "The same case again gives the same bits, into memory of another alignment.",
                                    "The operators are functions: nothing is left from one run to the next."},
                                   "all",
                                   repeat};

// Families that make the same claim share one relation.
void add(const FamilyRelation& own, const Family* family, std::vector<Relation>& all) {
  auto known = std::find_if(all.begin(), all.end(), [&](const Relation& other) { return other.id == own.claim.id; });
  if (known == all.end()) known = all.insert(all.end(), Relation{own.claim, {}, {}});
  known->operators += (known->operators.empty() ? "" : ", ") + std::string(own.operators);
  known->by_family.emplace_back(family, own.apply);
}

std::vector<Relation> all_relations() {
  std::vector<Relation> all;
  for (const Family* family : families()) {
    if (family->relations.list == nullptr) continue;
    for (const FamilyRelation& own : family->relations.list()) add(own, family, all);
  }
  add(kRepeated, nullptr, all);
  std::stable_sort(all.begin(), all.end(), [](const Relation& a, const Relation& b) { return a.topic < b.topic; });
  return all;
}

}  // namespace

std::vector<FamilyRelation> joined(std::initializer_list<std::span<const FamilyRelation>> parts) {
  std::vector<FamilyRelation> list;
  for (const auto& part : parts) list.insert(list.end(), part.begin(), part.end());
  return list;
}

Applied Relation::apply(const RelationSubject& subject) const {
  for (const auto& [family, apply_own] : by_family) {
    if (family == nullptr || family == subject.family) return apply_own(subject);
  }
  return NotApplicable{"it is of another operator"};
}

std::span<const Relation> relations() {
  static const std::vector<Relation> all = all_relations();
  return all;
}

const Relation* find_relation(std::string_view id) {
  for (const Relation& relation : relations()) {
    if (relation.id == id) return &relation;
  }
  return nullptr;
}

Result<RelationSubject> subject_of(const Case& test_case) {
  const Classification classification = classify(test_case);
  if (const auto* remark = classification.deciding_remark()) {
    return fail("case",
                "no relation applies to a case that is out of contract or implementation-defined: " + remark->text());
  }
  if (elements_of(classification.lowered->output_shape()) == 0) return fail("case", "its output is empty");
  RelationSubject subject{&test_case, family_of(test_case), nullptr};
  if (subject.family->relations.take_apart != nullptr) {
    subject.parts = subject.family->relations.take_apart(test_case, *classification.lowered);
  }
  return subject;
}

}  // namespace qconform::relations
