#include "harness/backends/sandbox/channel.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace qconform {
namespace {

// The three passes over a value: sum up its size, write it, read it. walk() below names the members
// of each type once for all of them.
class SizePass {
 public:
  static constexpr bool kReads = false;
  void raw(const void*, std::size_t size) { bytes += size; }
  std::size_t bytes = 0;
};

class WritePass {
 public:
  static constexpr bool kReads = false;
  explicit WritePass(std::span<std::byte> memory) : memory_(memory) {}
  void raw(const void* data, std::size_t size) {
    if (size > 0) std::memcpy(memory_.data(), data, size);
    memory_ = memory_.subspan(size);
  }

 private:
  std::span<std::byte> memory_;
};

class ReadPass {
 public:
  static constexpr bool kReads = true;
  explicit ReadPass(std::span<const std::byte> memory) : memory_(memory) {}
  void raw(void* data, std::size_t size) {
    if (!holds(size)) return;
    if (size > 0) std::memcpy(data, memory_.data(), size);
    memory_ = memory_.subspan(size);
  }
  // Whether that many bytes follow; otherwise nothing more is read.
  bool holds(std::size_t size) {
    if (size <= memory_.size()) return true;
    damaged_ = true;
    memory_ = {};
    return false;
  }
  // Whether `count` values of at least `least` bytes each can follow; otherwise nothing more is read.
  bool holds_each(std::uint64_t count, std::size_t least) {
    return holds(count > memory_.size() / least ? memory_.size() + 1 : 0);
  }
  void damage() {
    damaged_ = true;
    memory_ = {};
  }
  [[nodiscard]] bool is_complete() const { return !damaged_ && memory_.empty(); }

 private:
  std::span<const std::byte> memory_;
  bool damaged_ = false;
};

template <typename Pass, typename T>
requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void walk(Pass& pass, T& value) {
  if constexpr (std::is_same_v<std::remove_const_t<T>, bool>) {
    // A byte that a hostile process wrote need not be a bool.
    std::uint8_t byte = value ? 1 : 0;
    pass.raw(&byte, sizeof byte);
    if constexpr (Pass::kReads) value = byte != 0;
  } else {
    pass.raw(&value, sizeof value);
  }
}

// Bytes that a value takes in a message at least: a text or a list its number, whatever is in it.
template <typename T>
constexpr std::size_t kLeastBytes = sizeof(std::uint64_t);
template <typename T>
requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) constexpr std::size_t kLeastBytes<T> = sizeof(T);
template <>
constexpr std::size_t kLeastBytes<Tensor> = sizeof(ElementType) + 2 * sizeof(std::uint64_t);
template <>
constexpr std::size_t kLeastBytes<std::optional<Tensor>> = 1;
template <>
constexpr std::size_t kLeastBytes<Attribute> = sizeof(std::uint64_t) + 1;
template <>
constexpr std::size_t kLeastBytes<Node> = 6 * sizeof(std::uint64_t);

// Elements of one list that are no plain numbers: far more than any case has.
constexpr std::uint64_t kMostInList = std::uint64_t{1} << 20;

// The number of elements of a container, which is resized to it when read: no further than the rest of the message can
// hold, or a few bytes could ask for all memory.
template <typename Pass, typename Container>
void walk_size(Pass& pass, Container& container) {
  using Element = typename Container::value_type;
  auto size = static_cast<std::uint64_t>(container.size());
  walk(pass, size);
  if constexpr (Pass::kReads) {
    if (!std::is_trivially_copyable_v<Element> && size > kMostInList) return pass.damage();
    if (pass.holds_each(size, kLeastBytes<Element>)) container.resize(size);
  }
}

template <typename Pass, typename Text>
requires std::is_same_v<std::remove_const_t<Text>, std::string>
void walk(Pass& pass, Text& text) {
  walk_size(pass, text);
  pass.raw(text.data(), text.size());
}

template <typename Pass, typename Vector>
requires(std::is_trivially_copyable_v<typename Vector::value_type> &&
         !std::is_same_v<std::remove_const_t<Vector>, std::string>) void walk(Pass& pass, Vector& values) {
  walk_size(pass, values);
  pass.raw(values.data(), values.size() * sizeof(typename Vector::value_type));
}

template <typename Pass, typename Subject>
requires std::is_same_v<std::remove_const_t<Subject>, Tensor>
void walk(Pass& pass, Subject& tensor) {
  walk(pass, tensor.type);
  walk(pass, tensor.shape);
  walk(pass, tensor.bytes);
}

template <typename Pass, typename Tensors>
void walk_tensors(Pass& pass, Tensors& tensors) {
  walk_size(pass, tensors);
  for (auto& tensor : tensors) walk(pass, tensor);
}

// The alternative that a variant holds, by its number.
template <typename Pass, typename Variant, typename Each>
void walk_variant(Pass& pass, Variant& variant, Each each) {
  auto index = static_cast<std::uint8_t>(variant.index());
  walk(pass, index);
  if constexpr (Pass::kReads) {
    // One that holds the right alternative already keeps its memory.
    const auto make = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      return ((kIndex == index && (variant.index() == index || (variant.template emplace<kIndex>(), true))) || ...);
    };
    if (!make(std::make_index_sequence<std::variant_size_v<Variant>>())) return pass.damage();
  }
  std::visit(each, variant);
}

template <typename Pass, typename Texts>
void walk_texts(Pass& pass, Texts& texts) {
  walk_size(pass, texts);
  for (auto& text : texts) walk(pass, text);
}

template <typename Pass, typename Subject>
requires std::is_same_v<std::remove_const_t<Subject>, Node>
void walk(Pass& pass, Subject& node) {
  walk(pass, node.op_type);
  walk(pass, node.domain);
  walk(pass, node.opset_version);
  walk_size(pass, node.attributes);
  for (auto& attribute : node.attributes) {
    walk(pass, attribute.name);
    walk_variant(pass, attribute.value, [&](auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<std::string>>) {
        walk_texts(pass, value);
      } else {
        walk(pass, value);
      }
    });
  }
  walk_texts(pass, node.inputs);
  walk_texts(pass, node.outputs);
}

template <typename Pass, typename Subject>
requires std::is_same_v<std::remove_const_t<Subject>, Case>
void walk(Pass& pass, Subject& test_case) {
  walk(pass, test_case.id);
  walk_size(pass, test_case.nodes);
  for (auto& node : test_case.nodes) walk(pass, node);
  walk_texts(pass, test_case.input_names);
  walk(pass, test_case.fed_inputs);
  walk_texts(pass, test_case.outputs);
  walk_texts(pass, test_case.shown_outputs);
  walk_size(pass, test_case.inputs);
  for (auto& input : test_case.inputs) {
    bool given = input.has_value();
    walk(pass, given);
    if constexpr (Pass::kReads) {
      if (given != input.has_value()) given ? void(input.emplace()) : input.reset();
    }
    if (given) walk(pass, *input);
  }
}

template <typename Pass, typename Subject>
requires std::is_same_v<std::remove_const_t<Subject>, LabelledCase>
void walk(Pass& pass, Subject& labelled) {
  walk(pass, labelled.test_case);
  walk(pass, labelled.test_case.expectation);
  walk_texts(pass, labelled.test_case.rules);
  walk_texts(pass, labelled.test_case.tags);
  walk(pass, labelled.test_case.note);
  walk(pass, labelled.test_case.provenance.source);
  walk(pass, labelled.test_case.provenance.seed);
  walk(pass, labelled.test_case.provenance.index);
}

template <typename Pass, typename Subject>
requires std::is_same_v<std::remove_const_t<Subject>, Hello>
void walk(Pass& pass, Subject& hello) {
  walk(pass, hello.info.name);
  walk(pass, hello.info.version);
  walk(pass, hello.info.kind);
  walk(pass, hello.info.concurrent);
  walk(pass, hello.info.takes_other_inputs);
  walk(pass, hello.info.valid_only);
  walk_texts(pass, hello.info.capabilities);
  walk_texts(pass, hello.info.pinned);
  walk_texts(pass, hello.info.not_offered);
  walk(pass, hello.error);
}

// One member function for each outcome, const or not.
template <typename Pass>
struct OutcomeMembers {
  Pass& pass;

  template <typename T>
  void operator()(T& value) const {
    using Kind = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Kind, outcome::Produced>) {
      walk_tensors(pass, value.outputs);
    } else if constexpr (std::is_same_v<Kind, outcome::Unsupported> || std::is_same_v<Kind, outcome::Rejected>) {
      walk(pass, value.reason);
    } else if constexpr (std::is_same_v<Kind, outcome::Crashed>) {
      all(value.signal, value.detail, value.place);
    } else if constexpr (std::is_same_v<Kind, outcome::Exited>) {
      walk(pass, value.status);
    } else if constexpr (std::is_same_v<Kind, outcome::OutOfMemory>) {
      walk(pass, value.limit);
    } else if constexpr (std::is_same_v<Kind, outcome::TimedOut>) {
      walk(pass, value.seconds);
    } else if constexpr (std::is_same_v<Kind, outcome::WroteOutOfBounds>) {
      all(value.side, value.offset, value.of);
    } else if constexpr (std::is_same_v<Kind, outcome::ReadOutOfBounds>) {
      all(value.tensor, value.side, value.offset, value.wrote);
    } else if constexpr (std::is_same_v<Kind, outcome::ChangedInput>) {
      all(value.tensor, value.byte);
    } else if constexpr (std::is_same_v<Kind, outcome::GrewMemory>) {
      all(value.per_prepare, value.per_run);
    } else {
      walk(pass, value.detail);
    }
  }

  template <typename... Members>
  void all(Members&... members) const {
    (walk(pass, members), ...);
  }
};

template <typename Pass, typename Subject>
requires std::is_same_v<std::remove_const_t<Subject>, Outcome>
void walk(Pass& pass, Subject& outcome) {
  using Any = std::conditional_t<std::is_const_v<Subject>, const outcome::Any, outcome::Any>;
  walk(pass, outcome.log);
  walk(pass, outcome.lost);
  walk(pass, outcome.of_neighbour);
  bool has_other = outcome.on_other_input.has_value();
  walk(pass, has_other);
  if constexpr (Pass::kReads) {
    if (has_other) outcome.on_other_input.emplace();
  }
  if (has_other) {
    walk(pass, outcome.on_other_input->position);
    walk(pass, outcome.on_other_input->input);
    walk_tensors(pass, outcome.on_other_input->outputs);
  }
  walk_variant(pass, static_cast<Any&>(outcome), OutcomeMembers<Pass>{pass});
}

template <typename T>
std::size_t size_of(const T& value) {
  SizePass sizer;
  walk(sizer, value);
  return sizer.bytes;
}

template <typename T>
void write(const T& value, std::span<std::byte> memory) {
  WritePass writer(memory);
  walk(writer, value);
}

template <typename T>
bool read(std::span<const std::byte> memory, T& value) {
  ReadPass reader(memory);
  walk(reader, value);
  return reader.is_complete();
}

template <typename T>
std::optional<T> read_new(std::span<const std::byte> memory) {
  T value;
  if (!read(memory, value)) return std::nullopt;
  return value;
}

}  // namespace

std::size_t encoded_size(const Case& test_case) {
  return size_of(test_case);
}
std::size_t encoded_size(const LabelledCase& labelled) {
  return size_of(labelled);
}
std::size_t encoded_size(const Outcome& outcome) {
  return size_of(outcome);
}
std::size_t encoded_size(const Hello& hello) {
  return size_of(hello);
}
void encode(const Case& test_case, std::span<std::byte> memory) {
  write(test_case, memory);
}
void encode(const LabelledCase& labelled, std::span<std::byte> memory) {
  write(labelled, memory);
}
void encode(const Outcome& outcome, std::span<std::byte> memory) {
  write(outcome, memory);
}
void encode(const Hello& hello, std::span<std::byte> memory) {
  write(hello, memory);
}
bool decode_case(std::span<const std::byte> memory, Case& test_case) {
  return read(memory, test_case);
}
std::optional<LabelledCase> decode_labelled_case(std::span<const std::byte> memory) {
  return read_new<LabelledCase>(memory);
}
std::optional<Outcome> decode_outcome(std::span<const std::byte> memory) {
  return read_new<Outcome>(memory);
}
std::optional<Hello> decode_hello(std::span<const std::byte> memory) {
  return read_new<Hello>(memory);
}

}  // namespace qconform
