#include "harness/core/element_type.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace qconform {

namespace {

using Named = std::pair<ElementType, std::string_view>;

constexpr std::array kNames{
    Named{ElementType::float32, "float"},
    Named{ElementType::uint8, "uint8"},
    Named{ElementType::int8, "int8"},
    Named{ElementType::uint16, "uint16"},
    Named{ElementType::int16, "int16"},
    Named{ElementType::int32, "int32"},
    Named{ElementType::int64, "int64"},
    Named{ElementType::boolean, "bool"},
    Named{ElementType::float16, "float16"},
    Named{ElementType::float64, "double"},
    Named{ElementType::uint32, "uint32"},
    Named{ElementType::uint64, "uint64"},
    Named{ElementType::complex64, "complex64"},
    Named{ElementType::complex128, "complex128"},
    Named{ElementType::bfloat16, "bfloat16"},
    Named{ElementType::float8e4m3fn, "float8e4m3fn"},
    Named{ElementType::float8e4m3fnuz, "float8e4m3fnuz"},
    Named{ElementType::float8e5m2, "float8e5m2"},
    Named{ElementType::float8e5m2fnuz, "float8e5m2fnuz"},
    Named{ElementType::uint4, "uint4"},
    Named{ElementType::int4, "int4"},
    Named{ElementType::float4e2m1, "float4e2m1"},
    Named{ElementType::float8e8m0, "float8e8m0"},
    Named{ElementType::uint2, "uint2"},
    Named{ElementType::int2, "int2"},
};

}  // namespace

std::string name_of(ElementType type) {
  const auto* found =
      std::find_if(kNames.begin(), kNames.end(), [&](const Named& named) { return named.first == type; });
  if (found != kNames.end()) return std::string(found->second);
  return type == ElementType::string ? "string" : "type " + std::to_string(static_cast<std::int32_t>(type));
}

std::optional<ElementType> element_type_named(std::string_view name) {
  const auto* found =
      std::find_if(kNames.begin(), kNames.end(), [&](const Named& named) { return named.second == name; });
  if (found == kNames.end()) return std::nullopt;
  return found->first;
}

std::string TypeSet::text() const {
  std::vector<std::string> names;
  for (std::int32_t number = 0; number < 64; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (contains(type)) names.push_back(name_of(type));
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

}  // namespace qconform
