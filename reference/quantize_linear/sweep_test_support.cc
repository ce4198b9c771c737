#include "reference/quantize_linear/sweep_test_support.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

#include "reference/oracle/exact.h"
#include "reference/oracle/quantization.h"

namespace qconform::reference::oracle {
namespace {

constexpr std::uint32_t kChunk = 1U << 16;
constexpr std::uint32_t kInfinity = 0x7F800000U;

// Consecutive patterns with one answer: from `first` to the next segment's.
struct Segment {
  std::uint32_t first;
  std::byte expected;
};

float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

class Steps {
 public:
  explicit Steps(const SweepScale& p) : p_(p) {
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      add_finite(sign);
      const bool is_negative = (sign != 0) != (p.scale < 0);
      const IntegerRange range = range_of(p.y_type);
      segments_.push_back({sign | kInfinity, store8(is_negative ? range.lo : range.hi)});
      segments_.push_back({sign | (kInfinity + 1), store8(p.zero_point)});  // NaN: what all sets return
    }
  }

  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }

 private:
  [[nodiscard]] std::byte expected(std::uint32_t bits) const {
    const IntegerRange range = range_of(p_.y_type);
    const mpq_class x = oracle::exact(static_cast<double>(float_of(bits)));
    return store8(static_cast<std::int32_t>(oracle::quantize(x, p_.scale, p_.zero_point, range.lo, range.hi)));
  }

  // The output is monotone in the magnitude: each step is found by bisection.
  void add_finite(std::uint32_t sign) {
    std::uint32_t first = 0;
    while (first < kInfinity) {
      const std::byte here = expected(sign | first);
      segments_.push_back({sign | first, here});
      std::uint32_t lo = first;
      std::uint32_t hi = kInfinity;
      while (hi - lo > 1) {
        const std::uint32_t middle = lo + (hi - lo) / 2;
        (expected(sign | middle) == here ? lo : hi) = middle;
      }
      first = hi;
    }
  }

  SweepScale p_;
  std::vector<Segment> segments_;
};

// The expected outputs of one chunk. `at` is the last segment that begins no later than it.
bool fill_expected(const std::vector<Segment>& segments, std::size_t& at, std::uint32_t begin,
                   std::vector<std::byte>& expected) {
  const std::uint64_t end = std::uint64_t{begin} + kChunk;
  while (at + 1 < segments.size() && segments[at + 1].first <= begin) ++at;
  bool has_step = false;
  std::uint64_t from = begin;
  for (std::size_t s = at; from < end; ++s) {
    const std::uint64_t next = s + 1 < segments.size() ? segments[s + 1].first : end;
    const std::uint64_t to = std::min(next, end);
    std::memset(expected.data() + (from - begin), std::to_integer<int>(segments[s].expected), to - from);
    has_step = has_step || to < end;
    from = to;
  }
  return has_step;
}

std::string difference(const std::vector<std::byte>& got, const std::vector<std::byte>& expected, std::uint32_t begin) {
  const auto at = std::mismatch(got.begin(), got.end(), expected.begin()).first - got.begin();
  const auto i = static_cast<std::size_t>(at);
  std::ostringstream text;
  text << std::hexfloat << float_of(begin + static_cast<std::uint32_t>(i)) << ": got " << std::to_integer<int>(got[i])
       << ", expected " << std::to_integer<int>(expected[i]);
  return text.str();
}

}  // namespace

std::string sweep(const KernelSet& set, const SweepScale& p, std::int64_t stride) {
  const Steps steps(p);
  QuantizeLinear node;
  node.layout.inner = kChunk;
  node.y_type = p.y_type;
  node.y_scale = {static_cast<double>(p.scale)};
  node.y_zero_point = {p.zero_point};
  const auto kernel = set.quantize_linear(node);
  std::vector<std::uint32_t> x(kChunk);
  std::vector<std::byte> expected(kChunk);
  std::vector<std::byte> y(kChunk);
  std::size_t at = 0;
  for (std::uint32_t chunk = 0; chunk < (1U << 16); ++chunk) {
    const std::uint32_t begin = chunk * kChunk;
    const bool has_step = fill_expected(steps.segments(), at, begin, expected);
    if (!has_step && chunk % stride != 0) continue;
    for (std::uint32_t i = 0; i < kChunk; ++i) x[i] = begin + i;
    kernel->run(std::as_bytes(std::span(x)), y);
    if (y != expected) return difference(y, expected, begin);
  }
  return {};
}

}  // namespace qconform::reference::oracle
