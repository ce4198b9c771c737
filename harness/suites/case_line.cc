#include "harness/suites/case_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "harness/base/number.h"
#include "harness/base/rng.h"
#include "harness/base/text.h"
#include "harness/forms/json/case_json.h"
#include "harness/forms/json/json_text.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "harness/operators/convolution/hooks.h"

namespace qconform {
namespace {

// That a list of values has, with those that * repeats.
constexpr std::uint32_t kMostLineElements = 1U << 16;

tl::unexpected<Error> wrong(std::string_view word, std::string_view why) {
  return fail("--case", fmt::format("\"{}\": {}", word, why));
}

std::optional<ElementType> type_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ElementType>, 8> kShort{{{"u8", ElementType::uint8},
                                                                            {"s8", ElementType::int8},
                                                                            {"u16", ElementType::uint16},
                                                                            {"s16", ElementType::int16},
                                                                            {"s32", ElementType::int32},
                                                                            {"f32", ElementType::float32},
                                                                            {"f16", ElementType::float16},
                                                                            {"bf16", ElementType::bfloat16}}};
  for (const auto& [known, type] : kShort) {
    if (known == name) return type;
  }
  return element_type_named(name);
}

// "[1,2,3]"; "[]" is a scalar's.
std::optional<std::vector<std::int64_t>> list_in(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<std::int64_t> values;
  for (const std::string_view part : text.empty() ? std::vector<std::string_view>() : split(text, ",")) {
    const auto value = number_in<std::int64_t>(part);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

// One word of the line: NAME[:TYPE][[SHAPE]][=DATA].
struct Word {
  std::string_view whole;
  std::string_view name;
  std::string_view type;
  std::string_view shape;
  std::optional<std::string_view> data;
};

Word word_of(std::string_view text) {
  Word word{.whole = text, .name = {}, .type = {}, .shape = {}, .data = {}};
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) word.data = text.substr(equals + 1);
  std::string_view front = text.substr(0, equals);
  const std::size_t bracket = front.find('[');
  if (bracket != std::string_view::npos) word.shape = front.substr(bracket);
  front = front.substr(0, bracket);
  const std::size_t colon = front.find(':');
  if (colon != std::string_view::npos) word.type = front.substr(colon + 1);
  word.name = front.substr(0, colon);
  return word;
}

// An integer, a float with a point or an exponent, a list of either, or a text.
Attribute::Value attribute_value(std::string_view text) {
  if (const auto integer = number_in<std::int64_t>(text)) return *integer;
  if (const auto real = number_in<float>(text)) return *real;
  if (auto integers = list_in(text)) return *std::move(integers);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::string(text);
  std::vector<float> reals;
  for (const std::string_view part : split(text.substr(1, text.size() - 2), ",")) {
    const auto real = number_in<float>(part);
    if (!real) return std::string(text);
    reals.push_back(*real);
  }
  return reals;
}

std::string text_of(const Attribute::Value& value) {
  const auto with_point = [](float real) {
    std::string text = fmt::format("{}", real);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  };
  if (const auto* real = std::get_if<float>(&value)) return with_point(*real);
  if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    std::vector<std::string> texts;
    for (const float real : *reals) texts.push_back(with_point(real));
    return fmt::format("[{}]", fmt::join(texts, ","));
  }
  return attribute_text(value);
}

// A case of one operator while words are read: its inputs by the operator's names.
class LineReader {
 public:
  LineReader(const Operator& known, Case base) : known_(known), case_(std::move(base)) {
    case_.inputs.resize(std::max(case_.inputs.size(), known.inputs.size()));
  }

  [[nodiscard]] Result<void> read(std::string_view text) {
    const Word word = word_of(text);
    for (std::size_t i = 0; i < known_.inputs.size(); ++i) {
      if (known_.inputs[i].name == word.name) return read_input(i, word);
    }
    std::vector<std::string_view> names;
    for (const InputSignature& input : known_.inputs) names.push_back(input.name);
    if (!word.data || word.name.empty() || !word.type.empty() || !word.shape.empty()) {
      return wrong(text, fmt::format("expected NAME[:TYPE][[SHAPE]][=DATA] with an input of {} ({}), or "
                                     "ATTRIBUTE=VALUE",
                                     known_.name, fmt::join(names, ", ")));
    }
    set_attribute(case_, word.name, attribute_value(*word.data));
    return {};
  }

  // The type that an input has where no word states it.
  [[nodiscard]] ElementType type_of(std::size_t position) const {
    const InputSignature& input = known_.inputs[position];
    const Tensor* other = like(position);
    const bool follows = other != nullptr && !(input.usual == ElementType::float32 && is_integer(other->type));
    if (follows) return other->type;
    return input.usual == ElementType::undefined ? ElementType::uint8 : input.usual;
  }

  [[nodiscard]] Case take() && {
    for (std::size_t i = 0; i < known_.inputs.size(); ++i) retype(i);
    while (!case_.inputs.empty() && !case_.inputs.back()) case_.inputs.pop_back();
    return std::move(case_);
  }

 private:
  [[nodiscard]] const Tensor* like(std::size_t position) const {
    for (std::size_t i = 0; i < known_.inputs.size(); ++i) {
      if (known_.inputs[i].name == known_.inputs[position].like) return case_.input(i);
    }
    return nullptr;
  }

  // A zero point that no word states has the type of its tensor, which a word may have changed.
  void retype(std::size_t position) {
    auto& input = case_.inputs[position];
    const Tensor* other = like(position);
    const bool is_stated = std::find(stated_.begin(), stated_.end(), position) != stated_.end();
    if (!input || is_stated || other == nullptr || !is_integer(input->type) || !is_integer(other->type)) return;
    if (input->type != other->type) input = Tensor::zeros(other->type, input->shape);
  }

  Result<void> read_input(std::size_t position, const Word& word) {
    const auto& base = case_.inputs[position];
    const auto stated_type = type_named(word.type);
    if (!word.type.empty() && !stated_type) return wrong(word.whole, fmt::format("no element type {}", word.type));
    const bool keeps_type = base && !(like(position) != nullptr && is_integer(base->type));
    const ElementType type = stated_type ? *stated_type : keeps_type ? base->type : type_of(position);
    const auto stated_shape = list_in(word.shape);
    if (!word.shape.empty() && !stated_shape) return wrong(word.whole, "expected a shape such as [1,3,8,8]");
    const bool is_drawn = !word.data || word.data->starts_with('~');
    QCONFORM_ASSIGN(const auto values, is_drawn ? std::vector<std::string_view>() : values_in(word));
    std::vector<std::int64_t> shape;
    if (values.size() > 1) shape = {static_cast<std::int64_t>(values.size())};
    if (base && (values.size() <= 1 || base->elements() == static_cast<std::int64_t>(values.size())))
      shape = base->shape;
    if (stated_shape) shape = *stated_shape;
    QCONFORM_TRY(in_context("--case", checked_bytes(std::string(word.name), type, shape)));
    Tensor tensor = Tensor::zeros(type, std::move(shape));
    stated_.push_back(position);
    if (is_drawn) return draw(position, word, std::move(tensor));
    QCONFORM_TRY(fill(tensor, values, word));
    case_.inputs[position] = std::move(tensor);
    return {};
  }

  // The values of "3,0*4": "3" and four times "0".
  static Result<std::vector<std::string_view>> values_in(const Word& word) {
    std::vector<std::string_view> values;
    for (const std::string_view part : word.data->empty() ? std::vector<std::string_view>() : split(*word.data, ",")) {
      const std::size_t star = part.find('*');
      const auto count = star == std::string_view::npos ? std::optional<std::uint32_t>(1)
                                                        : number_in<std::uint32_t>(part.substr(star + 1));
      if (!count || *count > kMostLineElements) return wrong(word.whole, "expected a number behind *, as in 0*64");
      values.insert(values.end(), *count, part.substr(0, star));
    }
    return values;
  }

  Result<void> draw(std::size_t position, const Word& word, Tensor tensor) {
    const auto seed = word.data ? number_in<std::uint64_t>(word.data->substr(1)) : std::uint64_t{position + 1};
    if (!seed) return wrong(word.whole, "expected a seed behind ~");
    if (!is_integer(tensor.type)) return wrong(word.whole, "expected values: those of floats are not drawn");
    Rng rng(*seed);
    case_.inputs[position] = uniform_bytes(tensor.type, std::move(tensor.shape), rng);
    return {};
  }

  static Result<void> fill(Tensor& tensor, const std::vector<std::string_view>& values, const Word& word) {
    const std::int64_t elements = tensor.elements();
    const bool is_fill = values.size() == 1;
    if (!is_fill && static_cast<std::int64_t>(values.size()) != elements) {
      return wrong(word.whole, fmt::format("{} values for {} elements", values.size(), elements));
    }
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::string_view text = values[is_fill ? 0 : static_cast<std::size_t>(i)];
      const auto parsed = parse_json(text);
      const auto bits = element_bits(tensor.type, parsed ? *parsed : Json(std::string(text)));
      if (!bits) return wrong(word.whole, fmt::format("{} is no {}", text, name_of(tensor.type)));
      set_bits_at(tensor, i, *bits);
    }
    return {};
  }

  const Operator& known_;
  Case case_;
  std::vector<std::size_t> stated_;
};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words = split(line, " ");
  std::erase(words, "");
  return words;
}

// "0,0,0,1" as "0*3,1".
void join_runs(std::vector<std::string>& values) {
  constexpr std::ptrdiff_t kShortest = 3;
  std::vector<std::string> joined;
  for (auto at = values.begin(); at != values.end();) {
    const auto end = std::find_if(at, values.end(), [&](const std::string& value) { return value != *at; });
    if (end - at >= kShortest) {
      joined.push_back(fmt::format("{}*{}", *at, end - at));
      at = end;
    } else {
      joined.push_back(*at++);
    }
  }
  values = std::move(joined);
}

// "uint8[1,2]=3,4" without what type_of() and the list tell.
std::string data_text(const Tensor& tensor, ElementType otherwise) {
  const std::int64_t elements = tensor.elements();
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < elements; ++i) {
    const Json value = element_json(tensor.type, bits_at(tensor, i));
    values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  const bool is_fill = std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  const bool is_list = !is_fill && tensor.shape.size() == 1;
  std::string text = tensor.type == otherwise ? "" : ":" + name_of(tensor.type);
  if (!tensor.shape.empty() && !is_list) text += fmt::format("[{}]", fmt::join(tensor.shape, ","));
  if (is_fill && !values.empty()) values.resize(1);
  join_runs(values);
  return fmt::format("{}={}", text, fmt::join(values, ","));
}

}  // namespace

Result<Case> case_of_line(std::string_view line) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.empty())
    return fail("--case", "expected OPERATOR and its inputs, as in QuantizeLinear x=1.5,2.5 y_scale=1");
  const std::size_t colon = words[0].find(':');
  const std::string_view name = words[0].substr(0, colon);
  const Operator* known = find_operator("", name);
  if (known == nullptr || known->judges_graphs) {
    std::vector<std::string_view> names;
    for (const Operator& one : operators()) {
      if (!one.judges_graphs) names.push_back(one.name);
    }
    return wrong(words[0], fmt::format("no operator {} that stands alone{} There are {}", name,
                                       ending_with_guess(name, names), fmt::join(names, ", ")));
  }
  Case base;
  std::size_t next = 1;
  if (const auto sized = words.size() > 1 ? bench::convolution_of_descriptor(name, words[1]) : std::nullopt) {
    QCONFORM_ASSIGN(base, std::move(*sized));
    next = 2;
  }
  base.node().op_type = name;
  const auto opset = colon == std::string_view::npos ? known->versions.back()
                                                     : number_in<std::int64_t>(words[0].substr(colon + 1)).value_or(0);
  if (opset < 1) return wrong(words[0], "expected a number behind the colon, the opset");
  base.node().opset_version = opset;
  LineReader read(*known, std::move(base));
  for (; next < words.size(); ++next) QCONFORM_TRY(read.read(words[next]));
  Case result = std::move(read).take();
  // A misspelt name would make a case that has to be refused, and pass.
  for (std::size_t i = 0; i < known->inputs.size(); ++i) {
    const std::string_view input = known->inputs[i].name;
    if (known->inputs[i].required && result.input(i) == nullptr)
      return wrong(line, fmt::format("{} is missing", input));
  }
  const Classification classified = classify(result);
  const auto& violation = classified.contract.violation;
  if (violation && violation->rule == "signature") {
    std::vector<std::string_view> names;
    for (const InputSignature& input : known->inputs) names.push_back(input.name);
    for (const Attribute& attribute : result.node().attributes) {
      const std::string guess = ending_with_guess(attribute.name, names);
      if (guess != ".") return wrong(attribute.name, fmt::format("no input or attribute of {}{}", known->name, guess));
    }
    return fail("--case", violation->text());
  }
  result.id = "line";
  result.provenance.source = std::string(kLinePrefix) + std::string(line);
  return result;
}

std::optional<std::string> line_of(const Case& test_case) {
  if (test_case.nodes.size() != 1 || !test_case.input_names.empty() || !test_case.before.empty()) return std::nullopt;
  const Node& node = test_case.node();
  const Operator* known = find_operator(node.domain, node.op_type);
  if (known == nullptr || known->judges_graphs || test_case.inputs.size() > known->inputs.size()) return std::nullopt;
  std::string line = node.op_type;
  if (node.opset_version != known->versions.back()) line += fmt::format(":{}", node.opset_version);
  Case so_far = test_case;
  for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
    const auto& input = test_case.inputs[i];
    if (!input) continue;
    const bool is_readable =
        is_known(input->type) && bits_of(input->type) <= 64 && input->elements() <= kMostLineElements;
    if (!is_readable) return std::nullopt;
    so_far.inputs.resize(i);
    line += fmt::format(" {}{}", known->inputs[i].name, data_text(*input, LineReader(*known, so_far).type_of(i)));
    if (line.size() > kMostLineBytes) return std::nullopt;
    so_far.inputs = test_case.inputs;
  }
  for (const Attribute& attribute : node.attributes)
    line += fmt::format(" {}={}", attribute.name, text_of(attribute.value));
  if (line.size() > kMostLineBytes) return std::nullopt;
  const auto again = case_of_line(line);
  return again && digest_of(*again) == digest_of(test_case) ? std::optional(line) : std::nullopt;
}

}  // namespace qconform
