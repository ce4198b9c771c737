// Counts as CBOR, for the journal (journal.h) and between processes.
#pragma once

#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/campaign/campaign_aggregate.h"
#include "harness/forms/archive/archive.h"

namespace qconform::campaign {

// Describe the parts of an aggregate; harness/forms/archive/report_archive.h describes those of a report.
void describe(Archive& archive, Sample& sample, const FieldRule& rule);
void describe(Archive& archive, CampaignAggregate::ByKey& failures, const FieldRule& rule);
void describe(Archive& archive, CampaignAggregate::ByOperator& passing, const FieldRule& rule);
void describe(Archive& archive, CaseRows& rows, const FieldRule& rule);

[[nodiscard]] std::string encode_aggregate(const CampaignAggregate& aggregate);

/// The field of an error is "aggregate".
[[nodiscard]] Result<CampaignAggregate> decode_aggregate(std::string_view bytes);

[[nodiscard]] std::string encode_rows(const CaseRows& rows);
[[nodiscard]] Result<CaseRows> decode_rows(std::string_view bytes);

}  // namespace qconform::campaign
