#include <limits>
#include <utility>

#include "fuzz/graph_walk.h"
#include "harness/backends/kinds.h"
#include "harness/model/defects/defect.h"
#include "harness/model/draws/random_values.h"
#include "harness/model/draws/rng.h"
#include "harness/model/mutate/tensor_values.h"
#include "harness/model/operator.h"

namespace qconform::fuzz {
namespace {

enum class Way : std::uint8_t { element, values, special, type, shape, fewer, more, none, refusal, rejection, any };

ElementType any_known_type(Rng& rng) {
  for (;;) {
    const auto type = static_cast<ElementType>(rng.between(1, 26));
    if (is_known(type)) return type;
  }
}

// The reference's, or where it has none something of one element.
std::vector<Tensor> right_outputs(const Case& test_case, Rng& rng) {
  std::vector<Tensor> outputs;
  const Classification classification = classify(test_case);
  for (std::size_t i = 0; i < test_case.output_count(); ++i) {
    const bool has_answer = classification.lowered && !classification.value_is_open;
    outputs.push_back(has_answer ? classification.lowered->output(i).evaluate(RoundingProfile::correctly_rounded)
                                 : Tensor::zeros(any_known_type(rng), {1}));
  }
  return outputs;
}

// Patterns that are numbers of no kind, or the largest.
void make_special(Tensor& tensor, Rng& rng) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double value = rng.pick({kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(), -0.0, 1e300});
  if (!is_numeric(tensor.type)) return;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    if (rng.chance(1, 2)) store_number(tensor, i, value);
  }
}

std::vector<std::int64_t> other_shape(std::vector<std::int64_t> shape, Rng& rng) {
  if (shape.empty() || rng.chance(1, 4)) {
    shape.push_back(rng.pick({0, 1, 2}));
  } else if (rng.chance(1, 3)) {
    shape.pop_back();
  } else {
    shape[rng.below(static_cast<std::uint32_t>(shape.size()))] += rng.chance(1, 2) ? 1 : 0;
    std::swap(shape.front(), shape.back());
  }
  return shape;
}

void spoil(Tensor& tensor, Way way, Rng& rng) {
  switch (way) {
    case Way::values: rng.fill(tensor.bytes); break;
    case Way::special: make_special(tensor, rng); break;
    case Way::type: tensor = random_bits(rng, any_known_type(rng), tensor.shape); break;
    case Way::shape: tensor = random_bits(rng, tensor.type, other_shape(tensor.shape, rng)); break;
    default:
      if (!tensor.bytes.empty()) {
        tensor.bytes[rng.below(static_cast<std::uint32_t>(tensor.bytes.size()))] ^= std::byte{1};
      }
  }
}

class Answered final : public PreparedCase {
 public:
  explicit Answered(std::vector<Tensor> outputs) : outputs_(std::move(outputs)) {}
  void run(OutputSink& sink) override { copy_outputs(outputs_, sink); }

 private:
  outcome::Produced outputs_;
};

class WrongBackend final : public Backend {
 public:
  WrongBackend(std::uint64_t seed, std::string name) : seed_(seed), info_{std::move(name), "0", "test"} {
    Rng rng(seed_);
    way_ = static_cast<Way>(rng.below(static_cast<std::uint32_t>(Way::any) + 1));
    changes_ = rng.chance(1, 16);
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    Rng rng(seed_ + (changes_ ? ++runs_ : 0), digest_of(test_case));
    const Way way = way_ == Way::any ? static_cast<Way>(rng.below(static_cast<std::uint32_t>(Way::any))) : way_;
    if (way == Way::refusal) return outcome::Unsupported{rng.chance(1, 2) ? "" : "not here"};
    if (way == Way::rejection) return outcome::Rejected{"it seems wrong"};
    std::vector<Tensor> outputs = right_outputs(test_case, rng);
    const std::size_t chosen = rng.below(static_cast<std::uint32_t>(outputs.size() + 1));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (chosen == outputs.size() || chosen == i) spoil(outputs[i], way, rng);
    }
    if (way == Way::fewer && !outputs.empty()) outputs.pop_back();
    if (way == Way::more) outputs.push_back(Tensor::zeros(any_known_type(rng), {2}));
    if (way == Way::none) outputs.clear();
    return std::make_unique<Answered>(std::move(outputs));
  }

 private:
  std::uint64_t seed_;
  BackendInfo info_;
  Way way_ = Way::any;
  bool changes_ = false;
  std::uint64_t runs_ = 0;
};

// Combines two models of graphs; returns nothing where they do not combine.
std::unique_ptr<Backend> defective(Rng& rng, const std::string& name) {
  const std::vector<const diagnose::Defect*> known = diagnose::defects_in(kGraphSubject);
  const auto any = [&] { return known[rng.below(static_cast<std::uint32_t>(known.size()))]; };
  auto pair = diagnose::pair_of(*any(), *any());
  return pair ? backend::defect_model(std::move(*pair), name) : nullptr;
}

}  // namespace

std::unique_ptr<Backend> wrong_backend(std::uint64_t seed, std::string name) {
  Rng rng(seed, 1);
  if (rng.chance(1, 3)) {
    if (auto backend = defective(rng, name)) return backend;
  }
  return std::make_unique<WrongBackend>(seed, std::move(name));
}

}  // namespace qconform::fuzz
