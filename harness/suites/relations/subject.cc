#include "harness/suites/relations/subject.h"

#include "harness/operators/family.h"

namespace qconform::relations {

Result<Subject> subject_of(const Case& test_case) {
  const Classification classification = classify(test_case);
  if (const auto* remark = classification.deciding_remark()) {
    return fail("case", "no relation speaks of a case out of contract or with latitude: " + remark->text());
  }
  if (elements_of(classification.lowered->output_shape()) == 0) return fail("case", "its output is empty");
  Subject subject{&test_case, family_of(test_case), nullptr};
  if (subject.family->take_apart != nullptr) {
    subject.parts = subject.family->take_apart(test_case, *classification.lowered);
  }
  return subject;
}

}  // namespace qconform::relations
