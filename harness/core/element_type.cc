#include "harness/core/element_type.h"

#include <algorithm>
#include <array>
#include <vector>

namespace qconform {

namespace {

struct TypeFacts {
  ElementType type;
  std::string_view name;
  int bits;
  char kind;  // u unsigned integer, i signed integer, - other
};

constexpr std::array kTypes{
    TypeFacts{ElementType::float32, "float", 32, '-'},
    TypeFacts{ElementType::uint8, "uint8", 8, 'u'},
    TypeFacts{ElementType::int8, "int8", 8, 'i'},
    TypeFacts{ElementType::uint16, "uint16", 16, 'u'},
    TypeFacts{ElementType::int16, "int16", 16, 'i'},
    TypeFacts{ElementType::int32, "int32", 32, 'i'},
    TypeFacts{ElementType::int64, "int64", 64, 'i'},
    TypeFacts{ElementType::boolean, "bool", 8, '-'},
    TypeFacts{ElementType::float16, "float16", 16, '-'},
    TypeFacts{ElementType::float64, "double", 64, '-'},
    TypeFacts{ElementType::uint32, "uint32", 32, 'u'},
    TypeFacts{ElementType::uint64, "uint64", 64, 'u'},
    TypeFacts{ElementType::complex64, "complex64", 64, '-'},
    TypeFacts{ElementType::complex128, "complex128", 128, '-'},
    TypeFacts{ElementType::bfloat16, "bfloat16", 16, '-'},
    TypeFacts{ElementType::float8e4m3fn, "float8e4m3fn", 8, '-'},
    TypeFacts{ElementType::float8e4m3fnuz, "float8e4m3fnuz", 8, '-'},
    TypeFacts{ElementType::float8e5m2, "float8e5m2", 8, '-'},
    TypeFacts{ElementType::float8e5m2fnuz, "float8e5m2fnuz", 8, '-'},
    TypeFacts{ElementType::uint4, "uint4", 4, 'u'},
    TypeFacts{ElementType::int4, "int4", 4, 'i'},
    TypeFacts{ElementType::float4e2m1, "float4e2m1", 4, '-'},
    TypeFacts{ElementType::float8e8m0, "float8e8m0", 8, '-'},
    TypeFacts{ElementType::uint2, "uint2", 2, 'u'},
    TypeFacts{ElementType::int2, "int2", 2, 'i'},
};

const TypeFacts* facts_of(ElementType type) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeFacts& f) { return f.type == type; });
  return found == kTypes.end() ? nullptr : found;
}

}  // namespace

int bits_of(ElementType type) {
  const TypeFacts* facts = facts_of(type);
  return facts == nullptr ? 0 : facts->bits;
}

bool is_integer(ElementType type) {
  const TypeFacts* facts = facts_of(type);
  return facts != nullptr && facts->kind != '-';
}

bool is_signed_integer(ElementType type) {
  const TypeFacts* facts = facts_of(type);
  return facts != nullptr && facts->kind == 'i';
}

std::string name_of(ElementType type) {
  const TypeFacts* facts = facts_of(type);
  if (facts != nullptr) return std::string(facts->name);
  return type == ElementType::string ? "string" : "type " + std::to_string(static_cast<std::int32_t>(type));
}

std::optional<ElementType> element_type_named(std::string_view name) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeFacts& f) { return f.name == name; });
  if (found == kTypes.end()) return std::nullopt;
  return found->type;
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
