// Every relation must be able to fail: each is broken by at least one planted defect, and no defect is
// seen in the reference.
#include "harness/engine/relation_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <set>

#include "harness/model/case_builder.h"
#include "harness/model/operator.h"
#include "harness/operators/convolution/relation_parts.h"
#include "harness/operators/linear/hooks.h"
#include "harness/suites/drawn.h"
#include "harness/tests/convolution_builder.h"
#include "harness/tests/stand_ins.h"

namespace qconform {
namespace {

using relations::at;
using relations::ConvolutionParts;
using relations::RelationSubject;
using relations::Values;

// Computes another case than it is given, or spoils what it computed.
struct RelationDefect {
  std::string name;
  std::function<void(Convolution&, const reference::ConvolutionGeometry&)> misread = nullptr;
  std::function<void(Case&)> misread_linear = nullptr;
  std::function<void(const Case&, Tensor&)> spoil = nullptr;
};

class DefectivePrepared final : public PreparedCase {
 public:
  explicit DefectivePrepared(Tensor output) : output_(std::move(output)) {}
  void run(OutputSink& sink) override {
    const std::span<std::byte> memory = sink.allocate(output_.type, output_.shape);
    std::copy(output_.bytes.begin(), output_.bytes.end(), memory.begin());
  }

 private:
  Tensor output_;
};

class Defective final : public Backend {
 public:
  explicit Defective(RelationDefect defect) : defect_(std::move(defect)), info_{defect_.name, "0", "test"} {}
  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    Case computed = test_case;
    if (const auto subject = relations::subject_of(test_case)) {
      const ConvolutionParts* const parts = relations::convolution_of(*subject);
      if (parts != nullptr && defect_.misread) {
        Convolution convolution = parts->stated;
        defect_.misread(convolution, parts->sizes);
        computed = parts->derive(std::move(convolution), "");
      } else if (relations::linear_of(*subject) != nullptr && defect_.misread_linear) {
        defect_.misread_linear(computed);
      }
    }
    const Classification classification = classify(computed);
    if (!classification.lowered) return outcome::Rejected{classification.deciding_remark()->text()};
    Tensor output = classification.lowered->evaluate(RoundingProfile::correctly_rounded);
    if (defect_.spoil) defect_.spoil(test_case, output);
    return std::make_unique<DefectivePrepared>(std::move(output));
  }

 private:
  RelationDefect defect_;
  BackendInfo info_;
};

void set_integer(Tensor& tensor, std::int64_t index, std::int64_t value) {
  set_raw_bits_at(tensor.bytes, bits_of(tensor.type), index, static_cast<std::uint64_t>(value));
}

// Gives all channels the parameter of the first.
template <typename T>
void use_first(ParameterValues<T>& parameter) {
  parameter.values.assign(parameter.values.size(), parameter.values[0]);
}

using Sizes = reference::ConvolutionGeometry;

// Requantization by another rounding of the exact value, from the sums that the same case has with
// power-of-two scales left out: v in double, exact where ties are.
RelationDefect rounding_defect(std::string name, double (*round)(double)) {
  return {.name = std::move(name), .spoil = [round](const Case& test_case, Tensor& y) {
            const std::optional<Convolution> c =
                relations::subject_of(test_case) ? read_convolution(test_case) : std::nullopt;
            if (!c || !c->is_quantized) return;
            const ConvolutionSums sums = exact_sums(*c);
            const IntegerEnds ends = ends_of(c->y_type);
            for (std::int64_t i = 0; i < y.elements(); ++i) {
              const auto sum = static_cast<double>(reference::wrap_to_int32(sums.values[at(i)]));
              const double v = sum * static_cast<double>(c->x_scale.of(0)) *
                               static_cast<double>(c->w_scale.of(sums.channel_of(at(i)))) /
                               static_cast<double>(c->y_scale.of(0));
              const double limited = std::clamp(v, -1e6, 1e6);
              const auto rounded = static_cast<std::int64_t>(round(limited)) + c->y_zero_point.of(0);
              set_integer(y, i, std::clamp(rounded, ends.lo, ends.hi));
            }
          }};
}

const std::vector<RelationDefect> kConvolutionDefects{
    {.name = "x-zp-ignored", .misread = [](Convolution& c, const Sizes&) { c.x_zero_point.reset(); }},
    {.name = "w-zp-ignored", .misread = [](Convolution& c, const Sizes&) { c.w_zero_point.reset(); }},
    {.name = "w-zp-first-channel",
     .misread =
         [](Convolution& c, const Sizes&) {
           if (c.w_zero_point) use_first(*c.w_zero_point);
         }},
    {.name = "w-scale-common", .misread = [](Convolution& c, const Sizes&) { use_first(c.w_scale); }},
    {.name = "w-zp-group-local",
     .misread =
         [](Convolution& c, const Sizes& sizes) {
           if (!c.w_zero_point) return;
           auto& zeros = c.w_zero_point->values;
           for (std::size_t m = 0; m < zeros.size(); ++m) zeros[m] = zeros[m % at(sizes.group_output_channels())];
         }},
    {.name = "same-swap",
     .misread =
         [](Convolution& c, const Sizes&) {
           if (!c.has_auto_pad() || *c.auto_pad == "VALID") return;
           c.auto_pad = *c.auto_pad == "SAME_UPPER" ? "SAME_LOWER" : "SAME_UPPER";
         }},
    {.name = "pads-exchanged",
     .misread =
         [](Convolution& c, const Sizes& sizes) {
           Sizes exchanged = sizes;
           for (reference::SpatialAxis& axis : exchanged.axes) std::swap(axis.pad_begin, axis.pad_end);
           c.auto_pad.reset();
           set_sizes(c, exchanged);
         }},
    {.name = "kernel-flipped",
     .misread =
         [](Convolution& c, const Sizes& sizes) {
           const auto block = static_cast<std::ptrdiff_t>(sizes.kernel_taps());
           for (auto i = c.w.bytes.begin(); i != c.w.bytes.end(); i += block) std::reverse(i, i + block);
         }},
    {.name = "kernel-transposed",
     .misread =
         [](Convolution& c, const Sizes&) {
           if (c.w.shape.size() != 4 || c.w.shape[2] != c.w.shape[3]) return;
           c.w = relations::rearranged(c.w, c.w.shape, [](Values index) {
             std::swap(index[2], index[3]);
             return index;
           });
         }},
    {.name = "k-tail",
     .misread =
         [](Convolution& c, const Sizes& sizes) {
           const std::int64_t depth = sizes.depth();
           for (std::int64_t i = 0; i < c.w.elements(); ++i) {
             if (i % depth >= depth / 4 * 4) set_integer(c.w, i, c.w_zero(i / depth));
           }
         }},
    {.name = "batch0-buffer",
     .misread = [](Convolution& c, const Sizes& sizes) { relations::select_images(c, Values(at(sizes.batch), 0)); }},
    {.name = "group-base-ignored",
     .misread =
         [](Convolution& c, const Sizes& sizes) {
           Values order;
           for (std::int64_t i = 0; i < sizes.input_channels; ++i) order.push_back(i % sizes.group_input_channels());
           relations::select_input_channels(c, order);
         }},
    {.name = "bias-ignored", .misread = [](Convolution& c, const Sizes&) { c.bias.reset(); }},
    {.name = "scale-fixed-point",
     .misread = [](Convolution& c,
                   const Sizes&) { c.x_scale = std::max(std::floor(c.x_scale.of(0) * 256) / 256, 0x1p-8F); }},
    {.name = "row-tail",
     .spoil =
         [](const Case& test_case, Tensor& y) {
           if (y.shape.size() < 3 || y.shape.back() % 4 != 1 || y.shape.back() < 4) return;
           static_cast<void>(test_case);
           const std::int64_t width = y.shape.back();
           for (std::int64_t i = width - 1; i < y.elements(); i += width) set_integer(y, i, integer_at(y, i - 1));
         }},
};

std::vector<RelationDefect> other_defects() {
  return {
      rounding_defect("half-away", [](double v) { return std::round(v); }),
      rounding_defect("half-up", [](double v) { return std::floor(v + 0.5); }),
      rounding_defect("truncate", [](double v) { return std::trunc(v); }),
      {.name = "axis-0-parameters",
       .misread_linear =
           [](Case& c) {
             for (std::size_t i = 1; i < c.inputs.size(); ++i) {
               if (!c.inputs[i] || c.inputs[i]->is_scalar()) continue;
               const auto bits = raw_bits_at(c.inputs[i]->bytes, bits_of(c.inputs[i]->type), 0);
               for (std::int64_t p = 1; p < c.inputs[i]->elements(); ++p)
                 set_raw_bits_at(c.inputs[i]->bytes, bits_of(c.inputs[i]->type), p, bits);
             }
           }},
      {.name = "neg-axis",
       .misread_linear =
           [](Case& c) {
             const Attribute* axis = c.attribute("axis");
             if (axis == nullptr || std::get<std::int64_t>(axis->value) >= 0) return;
             // A negative axis meets its parameters one off.
             for (std::size_t i = 1; i < c.inputs.size(); ++i) {
               if (!c.inputs[i]) continue;
               const auto width = static_cast<std::ptrdiff_t>(bits_of(c.inputs[i]->type) / 8);
               std::rotate(c.inputs[i]->bytes.begin(), c.inputs[i]->bytes.begin() + width, c.inputs[i]->bytes.end());
             }
           }},
      {.name = "vec4-tail",
       .spoil =
           [](const Case& test_case, Tensor& y) {
             if (!test_case.node().op_type.ends_with("tizeLinear")) return;
             for (std::int64_t i = y.elements() / 4 * 4; i < y.elements(); ++i)
               set_raw_bits_at(y.bytes, bits_of(y.type), i, 0);
           }},
      {.name = "quantize-toward-zero-point",
       .spoil =
           [](const Case& test_case, Tensor& y) {
             if (test_case.node().op_type != "QuantizeLinear") return;
             for (std::int64_t i = 0; i < y.elements(); ++i)
               if (integer_at(y, i) > 20) set_integer(y, i, integer_at(y, i) - 2);
           }},
      {.name = "wrap-not-saturate",
       .spoil =
           [](const Case& test_case, Tensor& y) {
             if (test_case.node().op_type != "QuantizeLinear" && test_case.node().op_type != "QLinearConv") return;
             const IntegerEnds ends = ends_of(y.type);
             for (std::int64_t i = 0; i < y.elements(); ++i)
               if (integer_at(y, i) == ends.hi) set_integer(y, i, ends.lo);
           }},
      {.name = "stale",
       .spoil =
           [runs = 0](const Case&, Tensor& y) mutable {
             if (++runs % 2 == 0 && !y.bytes.empty()) y.bytes[0] ^= std::byte{1};
           }},
  };
}

using Matrix = std::map<std::string, std::set<std::string>>;  // relation to the defects that break it

void add_to(Matrix& matrix, const Report& report) {
  for (const BackendResult& backend : report.backends) {
    for (const RelationResult& relation : backend.relations) {
      if (relation.broken > 0) matrix[relation.id].insert(backend.info.name);
    }
  }
}

// Small random cases from far apart, so that every mix of features is among them.
class SmallCases final : public Suite {
 public:
  explicit SmallCases(int count) : left_(count) {}
  [[nodiscard]] std::string name() const override { return "small"; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    if (left_-- == 0) return std::nullopt;
    for (;;) {
      Case test_case = random_case(3, index_ += 37);
      std::size_t bytes = 0;
      for (const auto& input : test_case.inputs) bytes += input ? input->bytes.size() : 0;
      if (bytes <= 700) return test_case;
    }
  }

 private:
  int left_;
  std::uint64_t index_ = 0;
};

Report run(std::vector<std::unique_ptr<Backend>> backends, int cases) {
  std::vector<std::unique_ptr<Suite>> bases;
  bases.push_back(std::make_unique<SmallCases>(cases));
  Report report;
  EXPECT_TRUE(run_relations(bases, backends, {}, report).has_value());
  return report;
}

TEST(Relations, EachIsBrokenBySomeDefectAndByNoneInTheReference) {
  std::vector<RelationDefect> defects{{.name = "none"}};
  for (const RelationDefect& defect : kConvolutionDefects) defects.push_back(defect);
  for (RelationDefect& defect : other_defects()) defects.push_back(std::move(defect));
  Matrix matrix;
  std::set<std::string> seen;
  for (const RelationDefect& defect : defects) {
    std::vector<std::unique_ptr<Backend>> backends;
    backends.push_back(std::make_unique<Defective>(defect));
    const Report report = run(std::move(backends), 120);
    if (defect.name == "none") {
      EXPECT_TRUE(report.conforms());
    }
    add_to(matrix, report);
    std::cout << defect.name << ":";
    for (const auto& [id, by] : matrix) {
      if (by.contains(defect.name)) std::cout << " " << id, seen.insert(defect.name);
    }
    std::cout << "\n";
  }
  for (const relations::Relation& relation : relations::relations()) {
    if (relation.topic == relations::RelationTopic::graphs) continue;  // harness/operators/graph/defects_test.cc
    // A backend that forgets its own answers breaks everything; that proves the one relation only.
    if (relation.id != "repeated") matrix[std::string(relation.id)].erase("stale");
    EXPECT_FALSE(matrix[std::string(relation.id)].empty()) << relation.id << " is broken by no defect";
    EXPECT_FALSE(matrix[std::string(relation.id)].contains("none")) << relation.id;
  }
  for (const RelationDefect& defect : defects) {
    if (defect.name == "none") continue;
    EXPECT_TRUE(seen.contains(defect.name)) << defect.name << " breaks no relation";
  }
}

// A float32 requantization may answer a near tie differently where the sum is formed in another way;
// where both answers are right, that is implementation-defined, not a contradiction.
TEST(Relations, WhatIsImplementationDefinedBreaksNothing) {
  const Case base = QLinearConvBuilder()
                        .id("near-tie")
                        .x(make::uint8({1, 1, 1}, {1}))
                        .w(make::int8({1, 1, 1}, {1}))
                        .bias({1 << 24})
                        .y_scale(0x1p25F)
                        .build();
  const auto rounds_up = [](bool also_wrong) {
    return RelationDefect{.name = "rounds-one-way", .spoil = [also_wrong](const Case& test_case, Tensor& y) {
                            // Differs between the base and the cases derived from it.
                            if (test_case.id == "near-tie") set_integer(y, 0, also_wrong ? 2 : 0);
                          }};
  };
  const auto subject = relations::subject_of(base);
  ASSERT_TRUE(subject.has_value());
  for (const bool also_wrong : {false, true}) {
    Defective backend(rounds_up(also_wrong));
    GuardedOutput output;
    const FormedOutput formed = run_for_output(backend, base, output);
    ASSERT_TRUE(formed.tensor.has_value());
    const RelationCheck check =
        check_relation(*relations::find_relation("x-shift-128"), *subject, *formed.tensor, backend, output, {});
    EXPECT_EQ(check.outcome, also_wrong ? RelationOutcome::broken : RelationOutcome::implementation_defined)
        << check.verdict.detail;
  }
}

TEST(Relations, RefusalsAreCountedAndNeverHold) {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(std::make_unique<testing::RefusingBackend>());
  const Report report = run(std::move(backends), 20);
  EXPECT_FALSE(report.conforms());
  for (const RelationResult& relation : report.backends[0].relations) {
    EXPECT_EQ(relation.checked(), 0U);
    EXPECT_GT(relation.refused, 0U);
  }
}

}  // namespace
}  // namespace qconform
