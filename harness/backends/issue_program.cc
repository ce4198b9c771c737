#include "harness/backends/issue_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "harness/backends/plain_memory.h"
#include "harness/base/text.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "reference/numerics/floats.h"

namespace qconform::issue {
namespace {

constexpr std::size_t kLine = 100;

// Joined by ", " in braces, on lines of their own where they are many.
std::string wrapped(const std::vector<std::string>& values) {
  const std::string line = fmt::format("{}", fmt::join(values, ", "));
  if (line.size() < kLine * 2 / 3) return '{' + line + '}';
  std::string text = "{";
  std::size_t column = kLine;
  for (const std::string& value : values) {
    const bool fits = column + value.size() + 2 <= kLine;
    text += fits ? " " : "\n    ";
    text += value + ",";
    column = (fits ? column + 1 : 4) + value.size() + 1;
  }
  return text + "\n}";
}

// The code of element `index`, as a C++ program reads it: of integers the value, of floats the bits.
std::int64_t code_at(const Tensor& tensor, std::int64_t index) {
  if (is_integer(tensor.type)) return static_cast<std::int64_t>(number_at(tensor, index));
  return static_cast<std::int64_t>(raw_bits_at(tensor.bytes, bits_of(tensor.type), index));
}

void set_code(Tensor& tensor, std::int64_t index, std::uint64_t code) {
  const int bits = bits_of(tensor.type);
  for (int bit = 0; bit < bits; ++bit) {
    const auto place = static_cast<std::size_t>(index * bits + bit);
    const auto mask = static_cast<std::byte>(1U << place % 8);
    std::byte& byte = tensor.bytes[place / 8];
    byte = (code >> bit & 1U) != 0 ? byte | mask : byte & ~mask;
  }
}

// Those of one element; none where any is right.
std::vector<std::int64_t> right_codes(const Expected& expected, std::int64_t index) {
  constexpr int kEnumerable = 16;
  const Tensor& right = expected.pinned ? *expected.pinned : *expected.output;
  const int bits = bits_of(right.type);
  if (expected.pinned || bits > kEnumerable) {
    std::vector<std::int64_t> codes{code_at(right, index)};
    Tensor other = right;  // the other zero
    if (!is_integer(right.type)) {
      set_code(other, index, raw_bits_at(right.bytes, bits, index) ^ std::uint64_t{1} << (bits - 1));
      if (number_at(other, index) == 0 && view(expected, other, index).right) codes.push_back(code_at(other, index));
    }
    return codes;
  }
  std::vector<std::int64_t> codes;
  Tensor candidate = right;
  for (std::uint64_t code = 0; code >> bits == 0; ++code) {
    set_code(candidate, index, code);
    const auto opinion = expected.classification.lowered->examine(index, candidate, expected.policy);
    if (opinion.right) codes.push_back(code_at(candidate, index));
  }
  return codes.size() >> bits != 0 ? std::vector<std::int64_t>{} : codes;
}

std::string code_text(ElementType type, std::int64_t code) {
  if (is_integer(type)) return std::to_string(code);
  return fmt::format("0x{:0{}x}", code, bits_of(type) / 4);
}

// In the order of `layout`: where its element i lies with channels first.
std::vector<std::int64_t> order_of(const Tensor& y, Layout layout) {
  std::vector<std::int32_t> indices(static_cast<std::size_t>(y.elements()));
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int32_t>(i);
  const Tensor first = Tensor::of(ElementType::int32, y.shape, indices);
  if (layout == Layout::channels_last) to_channels_last(first, std::as_writable_bytes(std::span(indices)));
  return {indices.begin(), indices.end()};
}

std::string right_text(const Expected& expected, Layout layout) {
  const Tensor& y = *expected.output;
  std::vector<std::string> all;
  for (const std::int64_t index : order_of(y, layout)) {
    std::vector<std::string> codes;
    for (const std::int64_t code : right_codes(expected, index)) codes.push_back(code_text(y.type, code));
    all.push_back(fmt::format("{{{}}}", fmt::join(codes, ", ")));
  }
  return wrapped(all);
}

// How `check` reads element i of y.
std::string reading_text(ElementType type) {
  const int bits = bits_of(type);
  if (bits >= 8) return fmt::format("static_cast<const {}*>(y)[i]", element_type_text(type));
  const int per_byte = 8 / bits;
  const std::string code = fmt::format("static_cast<const std::uint8_t*>(y)[i / {}] >> i % {} * {} & {}", per_byte,
                                       per_byte, bits, (1 << bits) - 1);
  if (!is_signed_integer(type)) return code;
  return fmt::format("(({}) ^ {}) - {}", code, 1 << (bits - 1), 1 << (bits - 1));
}

// Any NaN is as right as another.
std::string nan_text(ElementType type) {
  unsigned exponent = 0;
  unsigned mantissa = 0;
  if (type == ElementType::float32) exponent = 0x7f800000U, mantissa = 0x7fffffU;
  if (type == ElementType::float16) exponent = 0x7c00U, mantissa = 0x3ffU;
  if (type == ElementType::bfloat16) exponent = 0x7f80U, mantissa = 0x7fU;
  if (exponent == 0) return "";
  return fmt::format("bool is_nan(long long code) {{ return (code & {0:#x}) == {0:#x} && (code & {1:#x}) != 0; }}\n\n",
                     exponent, mantissa);
}

constexpr std::string_view kCheck = R"(// Prints what is not right; 1 if anything is not.
int check(const void* y) {{
  int result = 0;
  for (std::size_t i = 0; i < kRight.size(); ++i) {{
    const long long got = {reading};
    bool is_right = kRight[i].empty();
    for (const long long code : kRight[i]) is_right = is_right || code == got{nan};
    if (is_right) continue;
    std::printf("y[%zu] is {format}, must be {format}\n", i, {got}, {must});
    result = 1;
  }}
  if (result == 0) std::puts("y is right");
  return result;
}}
)";

constexpr std::string_view kRangeCheck = R"(// The numbers that each element of y may be; nothing where any may.
struct Range {{
  double lo, hi;
}};
const std::vector<std::vector<Range>> kRight{ranges};

// Prints what is not right; 1 if anything is not.
int check(const void* y) {{
  int result = 0;
  for (std::size_t i = 0; i < kRight.size(); ++i) {{
    const double got = static_cast<const {type}*>(y)[i];
    bool is_right = kRight[i].empty();
    for (const Range& right : kRight[i]) {{
      is_right = is_right || (got >= right.lo && got <= right.hi) || (got != got && right.lo != right.lo);
    }}
    if (is_right) continue;
    std::printf("y[%zu] is %.9g, must be %.9g to %.9g\n", i, got, kRight[i][0].lo, kRight[i][0].hi);
    result = 1;
  }}
  if (result == 0) std::puts("y is right");
  return result;
}}
)";

constexpr NumberStyle kCpp{"{}", "{}", "NAN", "INFINITY"};

std::string range_check_text(const Expected& expected) {
  return fmt::format(fmt::runtime(kRangeCheck), fmt::arg("ranges", wrapped(right_ranges(expected, kCpp))),
                     fmt::arg("type", element_type_text(expected.output->type)));
}

constexpr std::string_view kDecoder = R"(std::string decoded(const std::string& text) {
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned group = 0;
  for (std::size_t i = 0; i < text.size() && text[i] != '='; ++i) {
    group = group << 6 | static_cast<unsigned>(digits.find(text[i]));
    if (i % 4 != 0) bytes += static_cast<char>(group >> (6 - i % 4 * 2) & 255);
  }
  return bytes;
}
)";

}  // namespace

std::string_view element_type_text(ElementType type) {
  switch (type) {
    case ElementType::float32: return "float";
    case ElementType::int8: return "std::int8_t";
    case ElementType::int16: return "std::int16_t";
    case ElementType::int32: return "std::int32_t";
    case ElementType::int64: return "std::int64_t";
    default: break;
  }
  switch (bits_of(type)) {
    case 16: return "std::uint16_t";
    case 32: return "std::uint32_t";
    case 64: return "std::uint64_t";
    default: return "std::uint8_t";
  }
}

std::string float_text(float value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value < 0 ? "-INFINITY" : "INFINITY";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "F";
}

std::string array_text(std::string_view name, const Tensor& tensor) {
  std::vector<std::string> values;
  const bool is_packed = bits_of(tensor.type) < 8;
  const std::int64_t count = is_packed ? static_cast<std::int64_t>(tensor.bytes.size()) : tensor.elements();
  for (std::int64_t i = 0; i < count; ++i) {
    if (tensor.type == ElementType::float32) {
      values.push_back(float_text(static_cast<float>(number_at(tensor, i))));
    } else if (is_packed) {
      values.push_back(fmt::format("{:#04x}", static_cast<unsigned>(tensor.bytes[static_cast<std::size_t>(i)])));
    } else {
      values.push_back(code_text(tensor.type, code_at(tensor, i)));
    }
  }
  if (values.empty()) values.emplace_back("0");
  return fmt::format("{} {}[] = {};\n", element_type_text(tensor.type), name, wrapped(values));
}

std::string list_text(const std::vector<std::int64_t>& values) {
  return fmt::format("{{{}}}", fmt::join(values, ", "));
}

std::string base64_text(std::string_view bytes) {
  const std::string text = base64(bytes);
  std::string lines;
  for (std::size_t i = 0; i < text.size(); i += kLine) lines += fmt::format("\n    \"{}\"", text.substr(i, kLine));
  return lines;
}

std::string model_text(std::string_view bytes) {
  return fmt::format("// The model, in base64.\nconst std::string kModel ={};\n\n{}", base64_text(bytes), kDecoder);
}

std::string check_text(const Expected& expected, Layout layout) {
  if (!expected.classification.lowered) {
    return "// The node is out of contract: it must be refused.\n"
           "int check(const void*) {\n  std::puts(\"y is computed; the node must be refused\");\n  return 1;\n}\n";
  }
  const std::string& op = expected.test_case->node().op_type;
  if (!expected.output) {
    return fmt::format(
        "// Of values, ONNX's document of {} leaves open what they are.\nint check(const void*) {{ return 0; }}\n", op);
  }
  if (is_judged_as_graph(*expected.test_case)) return range_check_text(expected);
  const ElementType type = expected.output->type;
  const std::string nan = nan_text(type);
  std::string text = fmt::format(
      "// What each element of y may be, by ONNX's document of {}{}.\nconst std::vector<std::vector<long long>> "
      "kRight{};\n\n",
      op, is_integer(type) ? "" : ", as the bits of a " + name_of(type), right_text(expected, layout));
  const bool is_float = type == ElementType::float32;
  if (is_float) {
    text +=
        "float number(long long code) {\n  const auto bits = static_cast<std::uint32_t>(code);\n  float value;\n"
        "  std::memcpy(&value, &bits, sizeof value);\n  return value;\n}\n";
  }
  const auto reading = is_float ? std::string("static_cast<const std::uint32_t*>(y)[i]") : reading_text(type);
  return text + nan +
         fmt::format(fmt::runtime(kCheck), fmt::arg("reading", reading),
                     fmt::arg("nan", nan.empty() ? "" : " || (is_nan(code) && is_nan(got))"),
                     fmt::arg("format", is_float           ? "%.9g"
                                        : is_integer(type) ? "%lld"
                                                           : "%#llx"),
                     fmt::arg("got", is_float ? "number(got)" : "got"),
                     fmt::arg("must", is_float ? "number(kRight[i][0])" : "kRight[i][0]"));
}

std::string literal_text(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      literal += {'\\', c};
    } else if (code < 0x20 || code == 0x7f) {
      literal += fmt::format("\\{:03o}", code);
    } else {
      literal += c;
    }
  }
  return literal + '"';
}

Result<void> check_single(const IssueCase& failing) {
  const Case& test_case = *failing.expected.test_case;
  if (!is_judged_as_graph(test_case)) return {};
  return fail("--issue", "programs compute single operators of this library's interface, not " + kind_text(test_case));
}

std::string number_text(double value, const NumberStyle& style) {
  if (std::isnan(value)) return std::string(style.nan);
  if (std::isinf(value)) return (value < 0 ? "-" : "") + std::string(style.infinity);
  return fmt::format("{}", value);
}

std::vector<std::string> right_ranges(const Expected& expected, const NumberStyle& style) {
  const Tensor& right = *expected.output;
  Tensor one{right.type, {1}, std::vector<std::byte>(sizeof(std::uint64_t))};
  const auto number = [&](std::uint64_t bits) {
    set_code(one, 0, bits);
    return number_at(one, 0);
  };
  const auto range = [&](double lo, double hi) {
    return fmt::format("{}{}, {}{}", style.range.front(), number_text(lo, style), number_text(hi, style),
                       style.range.back());
  };
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < right.elements(); ++i) {
    std::vector<std::string> ranges;
    const RightValues values = expected.classification.lowered->right_values(i, expected.policy);
    if (expected.pinned) {
      const double pinned = number_at(*expected.pinned, i);
      ranges = {range(pinned, pinned)};
    } else {
      for (const RightValues::Range& of : values.ranges) ranges.push_back(range(number(of.lo), number(of.hi)));
      if (values.any_nan) ranges.push_back(range(std::nan(""), std::nan("")));
    }
    all.push_back(fmt::format("{}{}{}", style.list.front(), fmt::join(ranges, ", "), style.list.back()));
  }
  return all;
}

int exit_code_of_refusal(const Expected& expected) {
  return expected.classification.expectation() == Expectation::valid ? 2 : 0;
}

// The libraries that have programs, one for each NAME_issue.cc.
#define QCONFORM_ISSUE_PROGRAM(name) [[nodiscard]] Result<IssueProgram> name##_program(const IssueCase& failing);
#include <issue_programs.inc>
#undef QCONFORM_ISSUE_PROGRAM

Result<IssueProgram> program_for(const Expected& expected, const backend::Specification& what,
                                 const BackendInfo& info) {
  struct ProgramLibrary {
    std::string_view name;
    Result<IssueProgram> (*program)(const IssueCase& failing);
  };
#define QCONFORM_ISSUE_PROGRAM(name) ProgramLibrary{#name, name##_program},
  static constexpr std::array kLibraries{
#include <issue_programs.inc>
  };
#undef QCONFORM_ISSUE_PROGRAM
  std::vector<std::string_view> names;
  for (const ProgramLibrary& library : kLibraries) {
    if (what.kind == backend::Specification::Kind::named && library.name == what.name)
      return library.program({expected, what, info.version});
    names.push_back(library.name);
  }
  return fail("--issue", fmt::format("there is no program for \"{}\"; there are for {}", backend::text_of(what),
                                     fmt::join(names, ", ")));
}

}  // namespace qconform::issue
