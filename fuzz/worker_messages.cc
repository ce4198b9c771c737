// Reads the input as a message between qconform and a worker, whose memory may hold anything: an outcome, a hello or a
// case, as the first byte says. What is read must be written in as many bytes, and be read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "harness/backends/sandbox/channel.h"

namespace {

using Bytes = std::span<const std::byte>;

void require(bool condition) {
  if (!condition) std::abort();
}

std::optional<qconform::Case> decode_case(Bytes bytes) {
  qconform::Case test_case;
  if (!qconform::decode_case(bytes, test_case)) return std::nullopt;
  return test_case;
}

template <typename Decode>
void check(Bytes bytes, const Decode& decode) {
  const auto value = decode(bytes);
  if (!value) return;
  std::vector<std::byte> again(qconform::encoded_size(*value));
  require(again.size() == bytes.size());
  qconform::encode(*value, again);
  require(decode(again).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  switch (data[0] % 3) {
    case 0: check(bytes, qconform::decode_outcome); break;
    case 1: check(bytes, qconform::decode_hello); break;
    default: check(bytes, decode_case);
  }
  return 0;
}
