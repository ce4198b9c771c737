#include "harness/suites/relations/families.h"
#include "harness/suites/relations/rearrange.h"

namespace qconform::relations {
namespace {

Applied repeat(const Subject& subject) {
  Case again = *subject.base;
  again.id += "/repeated";
  return same_output(std::move(again));
}

constexpr Relation kRepetitionRelations[] = {
    {"repeated", "all", "The same case again gives the same bits, into memory of another alignment.",
     "The operators are functions: nothing is left from one run to the next.", repeat},
};

}  // namespace

std::span<const Relation> repetition_relations() {
  return kRepetitionRelations;
}

}  // namespace qconform::relations
