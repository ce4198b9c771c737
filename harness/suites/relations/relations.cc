#include "harness/suites/relations/families.h"

namespace qconform::relations {
namespace {

std::vector<Relation> all_relations() {
  std::vector<Relation> all;
  for (const auto family : {signedness_relations(), padding_relations(), kernel_relations(), axis_relations(),
                            channel_relations(), batch_relations(), scale_relations(), requantization_relations(),
                            element_relations(), round_trip_relations(), repetition_relations()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace

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

}  // namespace qconform::relations
