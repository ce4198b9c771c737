// Tallies as bytes: CBOR, for the journal and between processes. docs/formats.md describes it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "harness/campaign/tally.h"
#include "harness/core/error.h"

namespace qconform::campaign {

[[nodiscard]] std::string encode_tally(const Tally& tally);

/// The field of an error is "tally".
[[nodiscard]] Result<Tally> decode_tally(std::string_view bytes);

}  // namespace qconform::campaign
