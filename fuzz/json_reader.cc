// Reads the input as a case file. What is read must be written and read back unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/forms/json/case_json.h"

namespace {

// Text compares more than Case's operator==, for which NaN differs from itself: the writer is
// injective on bits.
void check_round_trip(const std::vector<qconform::Case>& cases, const qconform::CaseJsonLimits& limits) {
  const std::string written = qconform::cases_json(cases);
  const qconform::Result<std::vector<qconform::Case>> again = qconform::read_cases_json(written, limits);
  if (!again || again->size() != cases.size()) std::abort();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (qconform::digest_of(cases[i]) != qconform::digest_of((*again)[i])) std::abort();
  }
  if (qconform::cases_json(*again) != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A few bytes can ask for a large tensor by "fill"; rounds over gigabytes would find nothing more.
  constexpr qconform::CaseJsonLimits limits{.tensor_bytes = 1 << 16};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const qconform::Result<std::vector<qconform::Case>> cases = qconform::read_cases_json(text, limits);
  if (cases) check_round_trip(*cases, limits);
  return 0;
}
