#include "harness/onnx/numpy_file.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "harness/base/text.h"
#include "harness/core/limits.h"

namespace qconform {
namespace {

// A little-endian number of that many bytes; nothing beyond the end.
std::optional<std::uint64_t> number_in(std::string_view bytes, std::size_t at, std::size_t size) {
  if (at > bytes.size() || size > bytes.size() - at) return std::nullopt;
  std::uint64_t number = 0;
  for (std::size_t i = size; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

std::optional<ElementType> type_named(std::string_view descr) {
  struct Name {
    const char* descr;
    ElementType type;
  };
  constexpr std::array kNames{
      Name{"|b1", ElementType::boolean}, Name{"|i1", ElementType::int8},    Name{"|u1", ElementType::uint8},
      Name{"<i2", ElementType::int16},   Name{"<u2", ElementType::uint16},  Name{"<i4", ElementType::int32},
      Name{"<u4", ElementType::uint32},  Name{"<i8", ElementType::int64},   Name{"<u8", ElementType::uint64},
      Name{"<f2", ElementType::float16}, Name{"<f4", ElementType::float32}, Name{"<f8", ElementType::float64}};
  for (const Name& name : kNames) {
    if (descr == name.descr) return name.type;
  }
  return std::nullopt;
}

// The text behind 'key': up to one of `ends`; nothing where the header has no such key.
std::optional<std::string_view> entry_of(std::string_view header, const std::string& key, char begin, char end) {
  const std::size_t at = header.find("'" + key + "':");
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t first = header.find(begin, at + key.size() + 3);
  const std::size_t last = first == std::string_view::npos ? first : header.find(end, first + 1);
  if (last == std::string_view::npos) return std::nullopt;
  return header.substr(first + 1, last - first - 1);
}

// "1, 3, 8", with a comma behind the only one.
std::optional<std::vector<std::int64_t>> shape_in(std::string_view text) {
  std::vector<std::int64_t> shape;
  for (std::string_view part : split(text, ",")) {
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    if (part.empty()) continue;
    std::int64_t size = -1;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), size);
    if (read.ec != std::errc() || read.ptr != part.data() + part.size() || size < 0) return std::nullopt;
    shape.push_back(size);
  }
  return shape;
}

// One file of an archive.
struct ZipMember {
  std::string_view name;
  std::string_view bytes;
};

constexpr const char* kDamaged = "is no zip file, or a damaged one";

// Reads the entry of the archive's directory at `at`, and moves `at` behind it.
Result<ZipMember> member_at(std::string_view zip, std::size_t& at, const std::string& field) {
  const auto of = [&](std::size_t place, std::size_t size) { return number_in(zip, at + place, size).value_or(0); };
  if (of(0, 4) != 0x02014b50) return fail(field, kDamaged);
  const std::uint64_t size = of(24, 4);
  const std::uint64_t name_size = of(28, 2);
  const std::uint64_t local = of(42, 4);
  if (at + 46 + name_size > zip.size()) return fail(field, kDamaged);
  const std::string_view name = zip.substr(at + 46, name_size);
  const std::string member = field + ": " + printable(std::string(name));
  if (of(10, 2) != 0) return fail(member, "is compressed; numpy.savez writes arrays that are not");
  if (size == 0xffffffff || of(20, 4) != size) return fail(member, "takes 4 GiB or more");
  const std::uint64_t begin =
      local + 30 + number_in(zip, local + 26, 2).value_or(0) + number_in(zip, local + 28, 2).value_or(0);
  if (number_in(zip, local, 4) != 0x04034b50 || begin > zip.size() || size > zip.size() - begin) {
    return fail(member, kDamaged);
  }
  at += 46 + name_size + of(30, 2) + of(32, 2);
  return ZipMember{name, zip.substr(begin, size)};
}

}  // namespace

Result<Tensor> tensor_from_npy(std::string_view bytes, const std::string& field) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!bytes.starts_with(kMagic)) return fail(field, "does not begin as a .npy file of NumPy does");
  const bool is_first_version = number_in(bytes, 6, 1) == 1U;
  const std::size_t begin = is_first_version ? 10 : 12;
  const auto size = number_in(bytes, 8, begin - 8);
  if (!size || *size > bytes.size() - begin) return fail(field, "ends within its header");
  const std::string_view header = bytes.substr(begin, *size);
  const auto descr = entry_of(header, "descr", '\'', '\'');
  const auto type = descr ? type_named(*descr) : std::nullopt;
  if (!type) {
    return fail(field, fmt::format("descr: expected numbers in little endian, got {}",
                                   descr ? quoted_name(std::string(*descr)) : "another form"));
  }
  if (header.find("'fortran_order': False") == std::string_view::npos) {
    return fail(field, "fortran_order: expected False (numpy.ascontiguousarray makes it so)");
  }
  const auto text = entry_of(header, "shape", '(', ')');
  auto shape = text ? shape_in(*text) : std::nullopt;
  if (!shape) return fail(field, "shape: expected a tuple of sizes");
  QCONFORM_ASSIGN(const std::int64_t expected, checked_bytes(field, *type, *shape));
  const std::string_view data = bytes.substr(begin + *size);
  if (data.size() != static_cast<std::size_t>(expected)) {
    return fail(field, fmt::format("expected {} bytes behind the header, got {}", expected, data.size()));
  }
  Tensor tensor{*type, std::move(*shape), std::vector<std::byte>(data.size())};
  if (!data.empty()) std::memcpy(tensor.bytes.data(), data.data(), data.size());
  return tensor;
}

Result<std::vector<std::pair<std::string, Tensor>>> tensors_from_npz(std::string_view bytes, const std::string& field) {
  // The end of the directory stands before a comment of at most 65,535 bytes.
  constexpr std::size_t kEndSize = 22;
  const std::size_t end = bytes.rfind("PK\x05\x06");
  if (end == std::string_view::npos || bytes.size() - end < kEndSize) return fail(field, kDamaged);
  const std::uint64_t members = number_in(bytes, end + 10, 2).value_or(0);
  std::size_t at = number_in(bytes, end + 16, 4).value_or(0);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (std::uint64_t i = 0; i < members; ++i) {
    QCONFORM_ASSIGN(const auto member, member_at(bytes, at, field));
    std::string name(member.name);
    QCONFORM_ASSIGN(auto tensor, tensor_from_npy(member.bytes, field + ": " + printable(name)));
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    tensors.emplace_back(std::move(name), std::move(tensor));
  }
  return tensors;
}

}  // namespace qconform
