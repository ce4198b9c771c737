// The parts of a tally that show how a campaign went, as CBOR values. Internal to the tally's form.
#pragma once

#include <nlohmann/json.hpp>

#include "harness/campaign/case_rows.h"
#include "harness/campaign/course.h"

namespace qconform::campaign {

/// {"width", "groups": [[first, cases, failures, seconds], ...], "reached": [[hazard's position, index], ...]}
[[nodiscard]] nlohmann::json course_json(const Course& course);
/// Throws nlohmann's exceptions, and std::out_of_range.
[[nodiscard]] Course course_from(const nlohmann::json& value);

/// {"failing", "firsts": [[backend, operator, symptom, waiver, index], ...], "rows": [[index, operator, [[verdict, tier
/// or -1, wrong elements, symptom, waiver], ...]], ...]}; of what does not fail, verdict and tier alone.
[[nodiscard]] nlohmann::json case_rows_json(const CaseRows& rows);
/// Throws likewise.
[[nodiscard]] CaseRows case_rows_from(const nlohmann::json& value);

/// Throws std::out_of_range where no verdict has the number.
[[nodiscard]] VerdictKind verdict_numbered(int number);

}  // namespace qconform::campaign
