#include "harness/campaign/journal_record.h"

#include <cstring>

#include "harness/core/digest.h"

namespace qconform::campaign {
namespace {

std::uint64_t sum_of_head(const RecordHead& head) {
  Digest digest;
  for (const std::uint64_t word :
       {std::uint64_t{head.kind}, std::uint64_t{head.length}, head.first, head.blocks, head.cases}) {
    digest.add(word);
  }
  return digest.value();
}

}  // namespace

std::uint64_t sum_of(std::string_view payload) {
  Digest digest;
  digest.add(payload);
  return digest.value();
}

std::string encode_record(const Record& record) {
  RecordHead head;
  head.kind = static_cast<std::uint32_t>(record.kind);
  head.length = static_cast<std::uint32_t>(record.payload.size());
  head.first = record.span.first;
  head.blocks = record.span.blocks;
  head.cases = record.span.cases;
  head.head_sum = sum_of_head(head);
  head.payload_sum = sum_of(record.payload);
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + record.payload;
}

bool is_sound(const RecordHead& head) {
  const Span span{head.first, head.blocks, head.cases};
  return head.mark == kRecordMark && head.length <= kMostPayload && head.head_sum == sum_of_head(head) &&
         span.is_valid();
}

}  // namespace qconform::campaign
