// A case in diagnosis: computed by models on the reference's pipeline, a backend's answer held against it, its
// features.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/case.h"
#include "harness/core/verdict.h"
#include "harness/model/defects/defect.h"
#include "harness/model/family.h"
#include "harness/model/judge/judge.h"

namespace qconform::diagnose {

// A case on the reference's pipeline, with or without defects.
//
//   const auto modelled = ModelledCase::prepare(test_case);
//   for (const Defect& defect : defects()) modelled->run(defect);

/// A case, parsed once and then run on any number of models. The case must outlive it. Thread-safe.
class ModelledCase {
 public:
  /// Prepares the case. Null when it is out of contract, or when any value is right (rules C21, Q5): there is nothing
  /// to model. The classification says why. Null, too, where the family has no stages (Family::diagnosis.run).
  [[nodiscard]] static std::unique_ptr<ModelledCase> prepare(const Case& test_case);
  /// Prepares the case with a classification that is at hand; it must outlive the result.
  [[nodiscard]] static std::unique_ptr<ModelledCase> prepare(const Case& test_case,
                                                             const Classification& classification);

  [[nodiscard]] const Case& test_case() const { return case_; }
  [[nodiscard]] const Operator& op() const { return *op_; }
  [[nodiscard]] const Family& family() const { return *family_; }
  [[nodiscard]] const Lowered& lowered() const { return lowered_; }
  /// The work of the case: products, or elements of an element-wise node.
  [[nodiscard]] std::int64_t work() const { return work_; }
  /// The cost of running a model, counted in products: a run, and each element, costs as much as several products.
  [[nodiscard]] std::uint64_t expense() const { return of_run_ + of_values_; }
  /// The part of it that grows with sizes.
  [[nodiscard]] std::uint64_t expense_of_values() const { return of_values_; }

  /// Computes the case's output, or the first of several, by the model. Its shape may differ from the right one.
  /// Nothing when the model's geometry has no output, because its window does not fit.
  [[nodiscard]] std::optional<Tensor> run(const DefectModel& model) const;
  [[nodiscard]] std::optional<Tensor> run(const Stages& stages) const;
  /// Computes one element of that output, as its bits; nothing where the family computes none by itself.
  [[nodiscard]] std::optional<std::uint64_t> element(const DefectModel& model, std::int64_t index) const;
  /// Computes all outputs of the case by the model.
  [[nodiscard]] std::optional<std::vector<Tensor>> outputs(const DefectModel& model) const;
  /// Runs the model of this one defect.
  [[nodiscard]] std::optional<Tensor> run(const Defect& defect) const;

 private:
  ModelledCase(const Case& test_case, const Lowered& lowered, std::unique_ptr<Classification> owned);

  const Case& case_;
  std::unique_ptr<Classification> owned_;  // the classification, where nobody else holds it
  const Lowered& lowered_;
  const Operator* op_;
  const Family* family_;
  std::int64_t work_;
  std::uint64_t of_run_;
  std::uint64_t of_values_;
};

// A backend's answer to a case, held against the right one and against those of models.

/// Runs one case on the backend in question.
using Runner = std::function<Outcome(const Case&)>;

/// The judgement of one element of a backend's output.
enum class ElementState : std::uint8_t {
  right,  ///< the reference's value
  legal,  ///< another one that the policy admits
  wrong,
};

/// A case, its right answer, and a backend's answer.
class Observation {
 public:
  /// Runs the case and observes the answer. Null where nothing can be learnt: the case is out of contract, any value is
  /// right, or there is no output.
  [[nodiscard]] static std::unique_ptr<Observation> of(Case test_case, const Runner& run, const Policy& policy);
  /// Makes an observation from an outcome that is at hand.
  [[nodiscard]] static std::unique_ptr<Observation> of(Case test_case, const Outcome& outcome, const Policy& policy);
  /// Makes an observation from an outcome and an expectation that are at hand; case and expectation must outlive it.
  [[nodiscard]] static std::unique_ptr<Observation> borrowing(const Case& test_case, const Expected& expected,
                                                              const Outcome& outcome);

  /// Returns a copy that outlives the case.
  [[nodiscard]] std::unique_ptr<Observation> copy() const {
    return of(case_, outcome::Produced{got_}, expected_.policy);
  }

  [[nodiscard]] const Case& test_case() const { return case_; }
  /// The expectation, with what assess() adds.
  [[nodiscard]] const Expected& expected() const { return expected_; }
  [[nodiscard]] const ModelledCase& modelled() const { return *modelled_; }
  /// The reference's answer, or the pinned one.
  [[nodiscard]] const Tensor& right() const { return expected_.pinned ? *expected_.pinned : *expected_.output; }
  [[nodiscard]] const Tensor& got() const { return got_; }
  /// One for each element; empty where the output's type or shape is wrong.
  [[nodiscard]] const std::vector<ElementState>& states() const { return states_; }
  [[nodiscard]] bool has_wrong_shape() const { return has_wrong_shape_; }
  /// Whether a model that gives these bits for an element gives what was got. Floats that round several times need not
  /// be equal: they agree where they lie no farther apart than right values of the element do, and, of a wrong element,
  /// much nearer than it lies to the reference's value.
  [[nodiscard]] bool agrees(std::int64_t index, std::uint64_t predicted) const;
  [[nodiscard]] std::uint64_t wrong_elements() const { return wrong_; }
  [[nodiscard]] bool is_failure() const { return has_wrong_shape_ || wrong_ > 0; }
  /// Products, or elements of an element-wise node.
  [[nodiscard]] std::int64_t work() const { return modelled_->work(); }

 private:
  /// A case and what is expected of it, where nobody else holds them.
  struct OwnedCase {
    Case test_case;
    Expected expected;
  };

  Observation(const Case& test_case, const Expected& expected, std::unique_ptr<OwnedCase> owned)
      : owned_(std::move(owned)), case_(test_case), expected_(expected) {}
  /// False where nothing can be learnt.
  [[nodiscard]] bool take(const Outcome& outcome);

  std::unique_ptr<OwnedCase> owned_;
  const Case& case_;
  const Expected& expected_;
  std::unique_ptr<ModelledCase> modelled_;
  Tensor got_;
  std::vector<ElementState> states_;
  std::vector<double> widths_;  // by element, of the interval of right values; empty: equal answers agree alone
  bool has_wrong_shape_ = false;
  std::uint64_t wrong_ = 0;
};

/// How a model's answer stands to a backend's.
struct Match {
  bool holds = false;           ///< no element contradicts the model
  bool is_near = false;         ///< no contradicting element is off by more than one step of an integer
  std::uint64_t legal = 0;      ///< elements where backend and model differ, and which the defect did not touch:
                                ///< the model has the reference's value there, the backend another admitted one
  std::uint64_t explained = 0;  ///< wrong elements that the model has too
  std::uint64_t broken = 0;     ///< elements where the backend is right or legal, and the model contradicts it

  [[nodiscard]] bool is_exact() const { return holds && legal == 0; }
};

/// Whether the first wrong element, which some families compute by itself, already contradicts the model: match() of
/// its answer does not hold then. A run of all elements costs many times as much.
[[nodiscard]] bool is_refuted(const Observation& observation, const DefectModel& model);

/// Compares a model's answer (nothing: it has none) with what was observed.
[[nodiscard]] Match match(const Observation& observation, const std::optional<Tensor>& predicted);

// Regions of an output where kernels tend to be wrong together: borders, tails, ties, ...

/// An element of an output, as far as it is known where it lies. What a family does not say stays as it is here.
struct Element {
  std::int64_t index = 0;
  std::int64_t count = 1;  ///< how many elements the output has
  // The place in an output [images, channels, ...]; where elements have parameters of their own, the position of those
  // is the "channel".
  std::int64_t image = 0;
  std::int64_t channel = 0;
  std::int64_t channels = 1;
  std::int64_t group = 0;
  std::int64_t column = 0;  ///< along the last axis
  std::int64_t columns = 1;
  bool is_last_row = false;
  bool touches_padding = false;
  bool is_padding_only = false;
  bool is_saturated = false;
  bool is_tie = false;
  bool is_open = false;  ///< another value than the reference's is legal
};

/// A number that each element of an output has, such as its channel, and how many there are of it.
struct Coordinate {
  std::string name;  ///< "channel"
  std::vector<std::int64_t> at;
  std::vector<std::int64_t> extent;

  void add(std::int64_t value, std::int64_t of) {
    at.push_back(value);
    extent.push_back(of);
  }
};

/// A size of a case that can be changed while others stay as they are.
struct CaseSize {
  std::string name;  ///< "kernel width"
  std::int64_t value = 1;
  std::int64_t least = 1;
};

struct OutputRegion {
  std::string_view id;           ///< "border"
  std::string_view description;  ///< "windows that reach the padding"
};

/// All regions.
[[nodiscard]] std::span<const OutputRegion> output_regions();

/// For each element of the output the regions that it lies in: bit i stands for output_regions()[i]. "One
/// channel" and the like are those of the first wrong element. The shape of the output is right.
[[nodiscard]] std::vector<std::uint64_t> output_regions_of(const Observation& observation);

// Features and sizes, which describe a case in a few words: types, remainders of sizes, geometry, zero points, scales,
// values, corner cases reached. Regions of failing cases are described in this vocabulary.

inline constexpr std::size_t kMostFeatures = 640;
inline constexpr std::size_t kMostSizes = 64;

using FeatureSet = std::bitset<kMostFeatures>;

/// Describes one case in the vocabulary: the features that it has, and its sizes. Numbers end at 2^32 - 1.
struct CaseTraits {
  FeatureSet features;
  std::array<std::uint32_t, kMostSizes> sizes{};
  std::uint32_t elements = 0;  ///< of the output: a case of few shows few failures

  bool operator==(const CaseTraits&) const = default;
};

struct CaseFeature {
  std::string text;  ///< "C % 16 != 0", "x int8", "reaches exact ties"
};

/// The features and sizes that a family knows of its cases (Family::diagnosis.case_features).
struct FeatureList {
  std::vector<CaseFeature> features;  ///< the plainest come first
  std::vector<std::string> sizes;     ///< "C", "output width"
  /// Says for each feature whether it holds for a case in contract.
  std::function<std::vector<bool>(const Case& test_case, const Expected& expected)> hold;
  /// Tells each of the sizes of a case in contract.
  std::function<std::vector<std::int64_t>(const Case& test_case, const Expected& expected)> measure;
};

/// Collects the features of a family, each as a question to a view of the case: a type that can be made from a case and
/// what is expected of it.
template <typename View>
class FeatureQuestions {
 public:
  using Question = std::function<bool(const View&)>;

  void add(std::string text, Question holds) { all_.push_back({std::move(text), std::move(holds)}); }
  /// Both words: what the question asks, and its opposite; of cases that `concerns` picks.
  void add_both(const Question& concerns, std::string yes, std::string no, const Question& holds) {
    add(std::move(yes), [=](const View& v) { return concerns(v) && holds(v); });
    add(std::move(no), [=](const View& v) { return concerns(v) && !holds(v); });
  }
  void add_both(std::string yes, std::string no, const Question& holds) {
    add_both([](const View&) { return true; }, std::move(yes), std::move(no), holds);
  }
  /// A size, whose bounds are learnt: "C >= 257".
  void add_size(std::string name, std::int64_t (*size)(const View&)) { sizes_.push_back({std::move(name), size}); }
  /// A size, and "C % 2 != 0" and so on, of the widths of vectors.
  void add_remainders(const std::string& name, std::int64_t (*size)(const View&)) {
    add_size(name, size);
    for (const std::int64_t width : {2, 4, 8, 16, 32}) {
      const std::string text = name + " % " + std::to_string(width);
      add_both(text + " != 0", text + " == 0", [=](const View& v) { return size(v) % width != 0; });
    }
  }

  [[nodiscard]] FeatureList list() && {
    FeatureList result;
    for (const AskedFeature& asked : all_) result.features.push_back({asked.text});
    result.hold = [all = std::move(all_)](const Case& test_case, const Expected& expected) {
      const View view(test_case, expected);
      std::vector<bool> hold;
      for (const AskedFeature& asked : all) hold.push_back(asked.holds(view));
      return hold;
    };
    for (const MeasuredSize& size : sizes_) result.sizes.push_back(size.name);
    result.measure = [all = std::move(sizes_)](const Case& test_case, const Expected& expected) {
      const View view(test_case, expected);
      std::vector<std::int64_t> sizes;
      for (const MeasuredSize& size : all) sizes.push_back(size.of(view));
      return sizes;
    };
    return result;
  }

 private:
  struct AskedFeature {
    std::string text;
    Question holds;
  };
  struct MeasuredSize {
    std::string name;
    std::int64_t (*of)(const View& view);
  };
  std::vector<AskedFeature> all_;
  std::vector<MeasuredSize> sizes_;
};

template <typename T>
[[nodiscard]] bool differ(const std::vector<T>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end();
}

template <typename T>
[[nodiscard]] bool any_nonzero(const std::vector<T>& values) {
  return std::any_of(values.begin(), values.end(), [](T value) { return value != 0; });
}

/// The features of all families, and the corner cases: bit i of a FeatureSet stands for the feature at i.
[[nodiscard]] std::span<const CaseFeature> case_features();

/// The sizes of all families: the size at i stands in CaseTraits::sizes[i].
[[nodiscard]] std::span<const std::string> case_sizes();

/// The features that hold for a case in contract, and its sizes. Corner cases count where assess() has been asked.
[[nodiscard]] CaseTraits features_of(const Case& test_case, const Expected& expected);

/// A condition on cases as it is told: a feature, or a bound on a size, such as "C >= 257", "rank <= 4" or "rank = 3".
class Condition {
 public:
  /// Nothing of a text that is no condition.
  [[nodiscard]] static std::optional<Condition> parse(std::string_view text);

  [[nodiscard]] bool holds(const CaseTraits& traits) const;

 private:
  // Families may have features and sizes of the same name; cases of another family have neither.
  FeatureSet features_;
  std::bitset<kMostSizes> sizes_;
  std::uint32_t least_ = 0;
  std::uint32_t most_ = 0;
};

}  // namespace qconform::diagnose
