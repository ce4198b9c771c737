// Names of causes that are not certain: which of them are dropped, so that nothing is told that a case contradicts.
#pragma once

#include <vector>

#include "harness/diagnose/explain/campaign_diagnosis.h"

namespace qconform::diagnose {

/// Drops the name of each group that is not certain (Status::reproduced, partial) where
/// - it reproduces two fifths at most of the failing cases that no other model has and its models change: some match by
///   chance;
/// - a passing case contradicts it: the models compute something wrong there, and nothing tells those cases from the
///   failing ones (what does becomes a condition of the group, FailureGroup::only_when). It stays all the same if it
///   reproduces six failing cases and more than half of those: the backend has the defect in some of its paths;
/// - more failing cases are left without a name than have this one;
/// - it has less than twice as many, and one condition holds for all of them and hardly for a passing one: then they
///   have one cause, which is not that.
/// `passing`: features of passing cases. `has_cures`: cures tell failures apart that lose their name here.
void drop_doubtful_names(const Causes& causes, const std::vector<CaseTraits>& passing,
                         std::vector<FailureGroup>& groups, bool has_cures);

}  // namespace qconform::diagnose
