// Reads the input as DirectML descriptions. What is read must be written and read back unchanged,
// and be lowered to a case that breaks no rule.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/forms/directml/description.h"
#include "harness/model/operator.h"

namespace {

namespace directml = qconform::directml;
using Descriptions = std::vector<directml::Description>;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_round_trip(const Descriptions& descriptions, const directml::DescriptionJsonLimits& limits) {
  const qconform::Result<Descriptions> again =
      directml::read_descriptions_json(directml::descriptions_json(descriptions), limits);
  require(again.has_value() && *again == descriptions);
}

void check_lowering(const directml::Description& description) {
  const qconform::Result<qconform::Case> lowered = directml::lower(description);
  require(lowered.has_value());
  require(qconform::classify(*lowered).contract.holds());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Strides and "fill" ask for large buffers in a few bytes; gigabytes would find nothing more.
  constexpr directml::DescriptionJsonLimits limits{.buffer_bytes = 1 << 16};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const qconform::Result<Descriptions> descriptions = directml::read_descriptions_json(text, limits);
  if (!descriptions) {
    require(!descriptions.error().message.empty());
    return 0;
  }
  check_round_trip(*descriptions, limits);
  for (const directml::Description& description : *descriptions) check_lowering(description);
  return 0;
}
