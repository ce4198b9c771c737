#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "harness/core/limits.h"
#include "harness/forms/json/case_json.h"

namespace qconform {

namespace {

// The type that stores the bits of a float or a double.
template <typename Float>
struct Storage;
template <>
struct Storage<float> {
  using Bits = std::uint32_t;
};
template <>
struct Storage<double> {
  using Bits = std::uint64_t;
};

template <typename Float>
std::uint64_t stored(Float value) {
  return std::bit_cast<typename Storage<Float>::Bits>(value);
}

template <typename Float>
constexpr int kWidth = static_cast<int>(sizeof(Float) * 8);

// numeric_limits' quiet NaN is the canonical one on every target; its sign is stated here.
template <typename Float>
std::uint64_t canonical_nan() {
  return stored(std::numeric_limits<Float>::quiet_NaN());
}

// The double whose shortest decimal is that of `value`. For a float the digits would otherwise be
// those of the exact value: 0.1F is 0.10000000149011612.
double shortest(float value) {
  std::array<char, 64> text;
  const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), value);
  double result = 0;
  (void)std::from_chars(text.data(), end.ptr, result);
  return result;
}
double shortest(double value) {
  return value;
}

template <typename Float>
Json float_json(std::uint64_t bits) {
  const auto value = std::bit_cast<Float>(static_cast<typename Storage<Float>::Bits>(bits));
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (std::isnan(value)) return bits == canonical_nan<Float>() ? "nan" : bit_pattern(bits, kWidth<Float>);
  const double decimal = shortest(value);
  if (stored(static_cast<Float>(decimal)) != bits) return bit_pattern(bits, kWidth<Float>);
  return decimal;
}

template <typename Float>
std::optional<std::uint64_t> float_bits(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "nan") return canonical_nan<Float>();
    if (text == "inf") return stored(std::numeric_limits<Float>::infinity());
    if (text == "-inf") return stored(-std::numeric_limits<Float>::infinity());
    return bits_of_pattern(text, kWidth<Float>);
  }
  if (value.is_number_unsigned()) return stored(static_cast<Float>(value.get<std::uint64_t>()));
  if (value.is_number_integer()) return stored(static_cast<Float>(value.get<std::int64_t>()));
  if (!value.is_number_float()) return std::nullopt;
  // Judged after rounding: the shortest decimal of the largest float lies above it.
  const auto number = static_cast<Float>(value.get<double>());
  return std::isinf(number) ? std::nullopt : std::optional(stored(number));
}

std::optional<std::uint64_t> integer_bits(bool is_signed, int width, const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= (is_signed ? mask >> 1 : mask) ? std::optional(number) : std::nullopt;
  }
  const auto number = value.get<std::int64_t>();
  const auto lowest = -static_cast<std::int64_t>(mask >> 1) - 1;
  if (number >= 0 || !is_signed || number < lowest) return std::nullopt;
  return static_cast<std::uint64_t>(number) & mask;
}

Json integer_json(bool is_signed, int width, std::uint64_t bits) {
  const bool negative = is_signed && (bits >> (width - 1) & 1U) != 0;
  if (!negative) return bits;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  return static_cast<std::int64_t>(bits | ~mask);
}

}  // namespace

std::string bit_pattern(std::uint64_t bits, int width) {
  std::string text = "0x";
  for (int shift = width - 4; shift >= 0; shift -= 4) text += "0123456789abcdef"[bits >> shift & 0xFU];
  return text;
}

std::optional<std::uint64_t> bits_of_pattern(std::string_view text, int width) {
  if (!text.starts_with("0x") || text.size() != 2 + static_cast<std::size_t>(width / 4)) return std::nullopt;
  std::uint64_t bits = 0;
  for (const char digit : text.substr(2)) {
    const std::size_t value = std::string_view("0123456789abcdef").find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 4 | value;
  }
  return bits;
}

Json element_json(ElementType type, std::uint64_t bits) {
  if (type == ElementType::float32) return float_json<float>(bits);
  if (type == ElementType::float64) return float_json<double>(bits);
  if (is_integer_or_boolean(type)) return integer_json(is_signed_integer(type), bits_of(type), bits);
  return bit_pattern(bits, bits_of(type));
}

std::optional<std::uint64_t> element_bits(ElementType type, const Json& value) {
  if (type == ElementType::float32) return float_bits<float>(value);
  if (type == ElementType::float64) return float_bits<double>(value);
  if (is_integer_or_boolean(type)) return integer_bits(is_signed_integer(type), bits_of(type), value);
  if (!value.is_string()) return std::nullopt;
  return bits_of_pattern(value.get_ref<const std::string&>(), bits_of(type));
}

namespace {

constexpr std::int64_t kLongestSameData = 16;

// complex128 is the one type wider than a machine word: two patterns in one, the imaginary part in
// the high digits.
Json element_object(const Tensor& tensor, std::int64_t index) {
  if (bits_of(tensor.type) <= 64) {
    return element_json(tensor.type, raw_bits_at(tensor.bytes, bits_of(tensor.type), index));
  }
  return bit_pattern(raw_bits_at(tensor.bytes, 64, 2 * index + 1), 64) +
         bit_pattern(raw_bits_at(tensor.bytes, 64, 2 * index), 64).substr(2);
}

bool set_wide_element(Tensor& tensor, std::int64_t index, const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  constexpr std::size_t high_end = 2 + 16;
  if (text.size() != high_end + 16) return false;
  const std::optional<std::uint64_t> high = bits_of_pattern(text.substr(0, high_end), 64);
  const std::optional<std::uint64_t> low = bits_of_pattern("0x" + text.substr(high_end), 64);
  if (!high || !low) return false;
  set_raw_bits_at(tensor.bytes, 64, 2 * index, *low);
  set_raw_bits_at(tensor.bytes, 64, 2 * index + 1, *high);
  return true;
}

bool set_element(Tensor& tensor, std::int64_t index, const Json& value) {
  if (bits_of(tensor.type) > 64) return set_wide_element(tensor, index, value);
  const std::optional<std::uint64_t> bits = element_bits(tensor.type, value);
  if (!bits) return false;
  set_raw_bits_at(tensor.bytes, bits_of(tensor.type), index, *bits);
  return true;
}

bool same_element(const Tensor& tensor, std::int64_t a, std::int64_t b) {
  const int bits = bits_of(tensor.type);
  if (bits <= 64) return raw_bits_at(tensor.bytes, bits, a) == raw_bits_at(tensor.bytes, bits, b);
  return raw_bits_at(tensor.bytes, 64, 2 * a) == raw_bits_at(tensor.bytes, 64, 2 * b) &&
         raw_bits_at(tensor.bytes, 64, 2 * a + 1) == raw_bits_at(tensor.bytes, 64, 2 * b + 1);
}

bool all_same(const Tensor& tensor, std::int64_t elements) {
  for (std::int64_t i = 1; i < elements; ++i) {
    if (!same_element(tensor, 0, i)) return false;
  }
  return true;
}

// Every element becomes the first one: by whole bytes where elements are such.
void spread_first(Tensor& tensor, std::int64_t elements) {
  const int bits = bits_of(tensor.type);
  if (bits < 8) {
    const std::uint64_t first = raw_bits_at(tensor.bytes, bits, 0);
    for (std::int64_t i = 1; i < elements; ++i) set_raw_bits_at(tensor.bytes, bits, i, first);
    return;
  }
  const std::size_t size = static_cast<std::size_t>(bits) / 8;
  for (std::size_t done = size; done < tensor.bytes.size();) {
    const std::size_t count = std::min(done, tensor.bytes.size() - done);
    std::copy_n(tensor.bytes.begin(), count, tensor.bytes.begin() + static_cast<std::ptrdiff_t>(done));
    done += count;
  }
}

std::string not_an_element(const Json& value, ElementType type) {
  const std::string is_none = brief(value) + " is not a " + name_of(type);
  if (is_integer_or_boolean(type)) return value.is_number() ? is_none : is_none + ": expected a number without quotes";
  const std::string bits = fmt::format("its bits as \"0x\" and {} digits of 0 to f", bits_of(type) / 4);
  const bool has_numbers = type == ElementType::float32 || type == ElementType::float64;
  return is_none + (has_numbers ? ": expected a number without quotes, or " : ": expected ") + bits;
}

bool read_fill(JsonFields& fields, const Json& value, const std::string& where, std::int64_t elements, Tensor& out) {
  // The value is checked for an empty tensor too, which has nowhere to put it.
  Tensor one{out.type, {}, std::vector<std::byte>(static_cast<std::size_t>(bytes_for(out.type, 1)))};
  if (!set_element(one, 0, value)) {
    return fields.refuse(json_path(where, "fill"), not_an_element(value, out.type));
  }
  if (elements == 0) return true;
  (void)set_element(out, 0, value);
  spread_first(out, elements);
  return true;
}

bool read_data(JsonFields& fields, const Json& value, const std::string& where, std::int64_t elements, Tensor& out) {
  if (!fields.array(value, where, static_cast<std::size_t>(limits::kElements))) return false;
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto position = static_cast<std::size_t>(i);
    if (!set_element(out, i, value[position])) {
      return fields.refuse(json_path(where, position), not_an_element(value[position], out.type));
    }
  }
  return true;
}

bool read_type(JsonFields& fields, const Json& value, const std::string& where, ElementType& out) {
  std::string name;
  if (!fields.read(value, where, name)) return false;
  const std::optional<ElementType> type = element_type_named(name);
  if (!type) return fields.refuse(where, brief(value) + " is not an element type, such as \"uint8\" or \"float\"");
  out = *type;
  return true;
}

}  // namespace

Json tensor_object(const Tensor& tensor, std::string_view name) {
  Json object = Json::object();
  if (!name.empty()) object["name"] = text_json(std::string(name));
  object["type"] = name_of(tensor.type);
  object["shape"] = tensor.shape;
  const std::int64_t elements = tensor.elements();
  if (elements > kLongestSameData && all_same(tensor, elements)) {
    object["fill"] = element_object(tensor, 0);
    return object;
  }
  Json& data = object["data"] = Json::array();
  for (std::int64_t i = 0; i < elements; ++i) data.push_back(element_object(tensor, i));
  return object;
}

bool read_tensor(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left,
                 Tensor& out) {
  if (!fields.object(value, where, {"type", "shape"}, {"name", "data", "fill"})) return false;
  const auto data = value.find("data");
  const auto fill = value.find("fill");
  if ((data == value.end()) == (fill == value.end())) {
    return fields.refuse(where, "expected either \"data\" or \"fill\"");
  }
  const std::string shape_path = json_path(where, "shape");
  if (!read_type(fields, value["type"], json_path(where, "type"), out.type) ||
      !fields.read_list(value["shape"], shape_path, limits::kRank, out.shape)) {
    return false;
  }
  const Result<std::int64_t> bytes = checked_bytes(shape_path, out.type, out.shape);
  if (!bytes) return fields.refuse(bytes.error());
  if (*bytes > bytes_left) return fields.refuse(shape_path, "the tensors of the file exceed the limit", "limit");
  const std::int64_t elements = elements_of(out.shape);
  // Before the allocation: a short file must not obtain a large tensor by claiming one.
  if (data != value.end() && data->is_array() && data->size() != static_cast<std::size_t>(elements)) {
    return fields.refuse(json_path(where, "data"), "expected " + std::to_string(elements) + " values for shape " +
                                                       shape_text(out.shape) + ", got " + std::to_string(data->size()));
  }
  bytes_left -= *bytes;
  out.bytes.assign(static_cast<std::size_t>(*bytes), std::byte{0});
  if (fill != value.end()) return read_fill(fields, *fill, where, elements, out);
  return read_data(fields, *data, json_path(where, "data"), elements, out);
}

}  // namespace qconform
