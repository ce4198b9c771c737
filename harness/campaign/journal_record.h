// A record of the journal as bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "harness/campaign/journal.h"

namespace qconform::campaign {

/// Where a record begins, so that whole ones can be found behind damage.
inline constexpr std::array<char, 8> kRecordMark{'\x89', 'Q', 'C', 'J', 'R', 'E', 'C', '\n'};
inline constexpr std::uint64_t kMostPayload = std::uint64_t{256} << 20;

/// In front of the payload; all numbers little endian.
struct RecordHead {
  std::array<char, 8> mark = kRecordMark;
  std::uint32_t kind = 0;
  std::uint32_t length = 0;  ///< of the payload
  std::uint64_t first = 0;
  std::uint64_t blocks = 0;
  std::uint64_t cases = 0;
  std::uint64_t head_sum = 0;     ///< of the five numbers
  std::uint64_t payload_sum = 0;  ///< of the payload
};
static_assert(sizeof(RecordHead) == 56);

[[nodiscard]] std::string encode_record(const Record& record);
/// Whether the head is one: mark, numbers and their sum.
[[nodiscard]] bool is_sound(const RecordHead& head);
[[nodiscard]] std::uint64_t sum_of(std::string_view payload);

}  // namespace qconform::campaign
