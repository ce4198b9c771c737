#include "harness/backends/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/graphs/case_graph.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/graph_scope.h"

namespace qconform::backend {
namespace {

using Shape = std::vector<std::int64_t>;

/// A case and its only right answer.
struct Check {
  std::string subject;
  std::function<bool(const Case&)> concerns;  ///< whether a case has what the subject names
  Case test_case;
  std::vector<Tensor> right;
};

Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(ElementType::float32, std::move(shape), values);
}
Tensor codes(ElementType type, Shape shape, const std::vector<float>& values) {
  return *cast(floats(std::move(shape), values), type, true);
}
Tensor scalar(ElementType type, float value) {
  return codes(type, {}, {value});
}

Case one_node(std::string op_type, std::int64_t opset, std::vector<std::optional<Tensor>> inputs) {
  Case test_case;
  test_case.id = "self-check";
  test_case.node().op_type = std::move(op_type);
  test_case.node().opset_version = opset;
  test_case.inputs = std::move(inputs);
  return test_case;
}

// A graph of quantized tensors with scale 1 and zero point 0.
class QuantizedGraph {
 public:
  std::string input(Tensor tensor) { return builder_.input(std::move(tensor)); }
  std::string constant(Tensor tensor) { return builder_.initializer(std::move(tensor)); }
  std::string node(std::string op_type, std::vector<std::string> inputs) {
    return builder_.node(std::move(op_type), std::move(inputs));
  }
  std::string dequantize(std::string x, ElementType type) { return linear("DequantizeLinear", std::move(x), type); }
  std::string quantize(std::string x, ElementType type) { return linear("QuantizeLinear", std::move(x), type); }
  std::vector<std::string> dynamic(std::string x) { return builder_.nodes("DynamicQuantizeLinear", {std::move(x)}, 3); }
  [[nodiscard]] Case build(std::vector<std::string> outputs) const { return builder_.build(std::move(outputs)); }

 private:
  std::string linear(std::string op_type, std::string x, ElementType type) {
    return node(std::move(op_type),
                {std::move(x), constant(scalar(ElementType::float32, 1)), constant(scalar(type, 0))});
  }

  GraphBuilder builder_{13};
};

bool has_several_outputs(const Case& test_case) {
  return test_case.output_count() > 1;
}

// Whether the predicate holds for an input that an application feeds.
template <typename Predicate>
bool is_fed(const Case& test_case, Predicate predicate) {
  const std::vector<std::size_t> fed = data_inputs(test_case);
  return std::any_of(fed.begin(), fed.end(), [&](std::size_t i) { return predicate(*test_case.inputs[i]); });
}
bool feeds_scalar(const Case& test_case) {
  return is_fed(test_case, [](const Tensor& tensor) { return tensor.is_scalar(); });
}
bool feeds_nothing(const Case& test_case) {
  return is_fed(test_case, [](const Tensor& tensor) { return tensor.elements() == 0; });
}

class List {
 public:
  std::vector<Check> all() {
    add_operators();
    add_graphs();
    add_extents();
    for (const auto& [type, opset] : kCodes) add_codes(type, opset);
    add_half(ElementType::float16);
    add_half(ElementType::bfloat16);
    return std::move(checks_);
  }

 private:
  // Types of quantized data beside uint8 and int8, and the first opset that has them.
  static constexpr std::pair<ElementType, std::int64_t> kCodes[] = {
      {ElementType::int32, 13},      {ElementType::float8e4m3fn, 19},   {ElementType::float8e4m3fnuz, 19},
      {ElementType::float8e5m2, 19}, {ElementType::float8e5m2fnuz, 19}, {ElementType::uint16, 21},
      {ElementType::int16, 21},      {ElementType::uint4, 21},          {ElementType::int4, 21},
      {ElementType::float4e2m1, 23}, {ElementType::uint2, 25},          {ElementType::int2, 25}};

  void add(std::string subject, std::function<bool(const Case&)> concerns, Case test_case, std::vector<Tensor> right) {
    checks_.push_back({std::move(subject), std::move(concerns), std::move(test_case), std::move(right)});
  }
  void add_operator(Case test_case, Tensor right) {
    const std::string op_type = test_case.node().op_type;
    const auto concerns = [op_type](const Case& c) { return c.subject() == op_type; };
    add("single " + op_type, concerns, std::move(test_case), {std::move(right)});
  }

  void add_operators() {
    const Shape shape{1, 2, 1, 3};
    const std::vector<float> x{1, 2, 3, 4, 5, 6};
    const std::vector<float> y{6, 9, 12, 13, 17, 21};
    const Tensor w = codes(ElementType::int8, {2, 2, 1, 1}, {2, 1, 1, 3});
    const Tensor one = scalar(ElementType::float32, 1);
    for (const ElementType type : {ElementType::uint8, ElementType::int8}) {
      const Tensor zero = scalar(type, 0);
      add_operator(one_node("QLinearConv", 10,
                            {codes(type, shape, x), one, zero, w, one, scalar(ElementType::int8, 0), one, zero}),
                   codes(type, shape, y));
    }
    add_operator(one_node("ConvInteger", 10, {codes(ElementType::uint8, shape, x), w}),
                 codes(ElementType::int32, shape, y));
    const Tensor ten = scalar(ElementType::uint8, 10);
    const Tensor q = codes(ElementType::uint8, {2, 3}, {11, 12, 13, 14, 15, 16});
    add_operator(one_node("QuantizeLinear", 13, {floats({2, 3}, x), one, ten}), q);
    add_operator(one_node("DequantizeLinear", 13, {q, one, ten}), floats({2, 3}, x));
  }

  void add_graphs() {
    using enum ElementType;
    {
      QuantizedGraph g;
      const std::string a = g.dequantize(g.input(codes(uint8, {2}, {1, 2})), uint8);
      const std::string b = g.dequantize(g.input(codes(uint8, {2}, {3, 5})), uint8);
      add("graphs", is_judged_as_graph, g.build({g.quantize(g.node("Add", {a, b}), uint8)}),
          {codes(uint8, {2}, {4, 7})});
    }
    {
      QuantizedGraph g;
      const std::string x = g.dequantize(g.input(codes(uint8, {1, 2, 1, 3}, {1, 2, 3, 4, 5, 6})), uint8);
      const std::string w = g.dequantize(g.constant(codes(int8, {2, 2, 1, 1}, {2, 1, 1, 3})), int8);
      add("graphs", is_judged_as_graph, g.build({g.quantize(g.node("Conv", {x, w}), uint8)}),
          {codes(uint8, {1, 2, 1, 3}, {6, 9, 12, 13, 17, 21})});
    }
    add_relu("graphs", is_judged_as_graph, {2}, {-1, 2}, {0, 2});
    add_relu("scalars", feeds_scalar, {}, {2}, {2});
    add_several_outputs();
  }

  void add_relu(std::string subject, bool (*concerns)(const Case&), const Shape& shape, const std::vector<float>& x,
                const std::vector<float>& y) {
    QuantizedGraph g;
    const std::string real = g.dequantize(g.input(codes(ElementType::int8, shape, x)), ElementType::int8);
    add(std::move(subject), concerns, g.build({g.quantize(g.node("Relu", {real}), ElementType::int8)}),
        {codes(ElementType::int8, shape, y)});
  }

  // Outputs stand in another order than their nodes.
  void add_several_outputs() {
    using enum ElementType;
    const Tensor relu = codes(int8, {2}, {0, 2});
    QuantizedGraph g;
    const std::string x = g.dequantize(g.input(codes(int8, {2}, {-1, 2})), int8);
    const std::string r = g.node("Relu", {x});
    const std::string y = g.quantize(r, int8);
    add("several outputs", has_several_outputs, g.build({y, r}), {relu, floats({2}, {0, 2})});
    const std::string z = g.quantize(g.node("Neg", {x}), int8);
    add("several outputs", has_several_outputs, g.build({z, y}), {codes(int8, {2}, {1, -2}), relu});
    QuantizedGraph dynamic;
    const std::vector<std::string> outputs = dynamic.dynamic(dynamic.input(floats({3}, {0, 1, 255})));
    add("several outputs", has_several_outputs, dynamic.build(outputs),
        {codes(uint8, {3}, {0, 1, 255}), scalar(float32, 1), scalar(uint8, 0)});
  }

  void add_extents() {
    const Tensor one = scalar(ElementType::float32, 1);
    const Tensor zero = scalar(ElementType::uint8, 0);
    struct ExtentSubject {
      const char* subject;
      bool (*concerns)(const Case&);
      Shape shape;
      std::vector<float> values;
    };
    for (const auto& [subject, concerns, shape, values] :
         {ExtentSubject{"scalars", feeds_scalar, {}, {2}},
          ExtentSubject{"tensors without elements", feeds_nothing, {0, 3}, {}}}) {
      const Tensor real = floats(shape, values);
      const Tensor code = codes(ElementType::uint8, shape, values);
      add(subject, concerns, one_node("DequantizeLinear", 13, {code, one, zero}), {real});
      add(subject, concerns, one_node("QuantizeLinear", 13, {real, one, zero}), {code});
    }
  }

  void add_type(ElementType type, Case test_case, Tensor right) {
    const auto concerns = [type](const Case& c) {
      return std::any_of(c.inputs.begin(), c.inputs.end(), [&](const auto& t) { return t && t->type == type; });
    };
    add("element type " + name_of(type), concerns, std::move(test_case), {std::move(right)});
  }

  // An odd count: the last byte of packed elements is not full.
  void add_codes(ElementType type, std::int64_t opset) {
    const std::vector<float> values = bits_of(type) < 4 ? std::vector<float>{1, 0, 1} : std::vector<float>{1, 2, 3};
    const Tensor code = codes(type, {3}, values);
    const Tensor one = scalar(ElementType::float32, 1);
    add_type(type, one_node("DequantizeLinear", opset, {code, one}), floats({3}, values));
    if (type == ElementType::int32) return;  // QuantizeLinear has no such output
    add_type(type, one_node("QuantizeLinear", opset, {floats({3}, values), one, scalar(type, 0)}), code);
  }

  void add_half(ElementType type) {
    const Tensor code = codes(ElementType::uint8, {3}, {1, 2, 3});
    const Tensor real = codes(type, {3}, {1, 2, 3});
    const Tensor one = scalar(type, 1);
    const Tensor zero = scalar(ElementType::uint8, 0);
    add_type(type, one_node("DequantizeLinear", 19, {code, one, zero}), real);
    add_type(type, one_node("QuantizeLinear", 19, {real, one, zero}), code);
  }

  std::vector<Check> checks_;
};

const std::vector<Check>& checks() {
  static const std::vector<Check> all = List().all();
  return all;
}

std::string text_of(const Tensor& tensor) {
  return name_of(tensor.type) + " " + shape_text(tensor.shape);
}

// The elements in an order that does not depend on where they lie; empty where they share bytes.
std::vector<std::uint64_t> sorted_elements(const Tensor& tensor) {
  std::vector<std::uint64_t> elements;
  for (std::int64_t i = 0; bits_of(tensor.type) >= 8 && i < tensor.elements(); ++i) {
    elements.push_back(raw_bits_at(tensor.bytes, bits_of(tensor.type), i));
  }
  std::sort(elements.begin(), elements.end());
  return elements;
}

// Says why no library that computed the case could have given the output; empty where one could.
std::string fault_of(const Check& check, const std::vector<Tensor>& got) {
  if (got.size() != check.right.size()) return fmt::format("{} outputs, expected {}", got.size(), check.right.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Tensor& right = check.right[i];
    if (got[i].type != right.type || got[i].shape != right.shape) {
      return fmt::format("output {} is {}, expected {}", i, text_of(got[i]), text_of(right));
    }
    if (got[i].bytes == right.bytes) continue;
    if (std::find(check.right.begin(), check.right.end(), got[i]) != check.right.end()) {
      return fmt::format("output {} holds what another output should", i);
    }
    if (!got[i].bytes.empty() && !sorted_elements(right).empty() && sorted_elements(got[i]) == sorted_elements(right)) {
      return fmt::format("output {} has its elements in another order", i);
    }
  }
  return {};
}

SelfCheckRow row_of(const Check& check, const Outcome& outcome) {
  using Kind = SelfCheckRow::Kind;
  const auto row = [&](Kind kind, std::string detail) { return SelfCheckRow{check.subject, kind, std::move(detail)}; };
  if (const auto* unsupported = std::get_if<outcome::Unsupported>(&outcome)) {
    return row(Kind::declined, unsupported->reason);
  }
  if (const auto* rejected = std::get_if<outcome::Rejected>(&outcome)) return row(Kind::declined, rejected->reason);
  if (const auto* broken = std::get_if<outcome::BrokenInterface>(&outcome)) {
    return row(Kind::adapter_fault, broken->detail);
  }
  const auto* produced = std::get_if<outcome::Produced>(&outcome);
  if (produced == nullptr) return row(Kind::library_fault, check.test_case.op_types() + " ends without an answer");
  if (auto fault = fault_of(check, produced->outputs); !fault.empty())
    return row(Kind::adapter_fault, std::move(fault));
  if (produced->outputs == check.right) return row(Kind::right, {});
  return row(Kind::library_fault, check.test_case.op_types() + " gives a wrong value");
}

/// Declines what is not offered.
class SelfChecked final : public Backend, public Worker {
 public:
  SelfChecked(std::unique_ptr<Backend> inner, std::vector<SelfCheckRow> faults)
      : inner_(std::move(inner)), info_(inner_->info()) {
    for (SelfCheckRow& fault : faults) {
      if (withheld(fault.subject)) continue;
      info_.not_offered.push_back(fault.subject + ": " + fault.detail);
      const auto found = std::find_if(checks().begin(), checks().end(),
                                      [&](const Check& check) { return check.subject == fault.subject; });
      withheld_.push_back(&*found);
    }
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] std::optional<CaseGraph> rewritten(const Case& test_case) override {
    return reason_against(test_case) ? std::nullopt : inner_->rewritten(test_case);
  }
  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (auto reason = reason_against(test_case)) return outcome::Unsupported{std::move(*reason)};
    return inner_->prepare(test_case);
  }
  [[nodiscard]] Worker* worker() override { return this; }
  [[nodiscard]] CodeCoverage* code_coverage() override { return inner_->code_coverage(); }

  [[nodiscard]] std::size_t depth() const override { return inner_->worker()->depth(); }
  void start(const Case& test_case) override {
    started_.push_back(reason_against(test_case));
    if (!started_.back()) inner_->worker()->start(test_case);
  }
  [[nodiscard]] Outcome finish() override {
    const std::optional<std::string> reason = std::move(started_.front());
    started_.pop_front();
    return reason ? Outcome(outcome::Unsupported{*reason}) : inner_->worker()->finish();
  }
  void abandon(std::size_t /*count*/) override {
    inner_->worker()->abandon(static_cast<std::size_t>(std::count(started_.begin(), started_.end(), std::nullopt)));
    started_.clear();
  }
  [[nodiscard]] Outcome examine(const Case& test_case) override {
    if (auto reason = reason_against(test_case)) return outcome::Unsupported{std::move(*reason)};
    return inner_->worker()->examine(test_case);
  }
  [[nodiscard]] Outcome ask(const Case& test_case) override {
    if (auto reason = reason_against(test_case)) return outcome::Unsupported{std::move(*reason)};
    return inner_->worker()->ask(test_case);
  }
  [[nodiscard]] std::optional<Outcome> run_apart(std::span<const Case* const> cases, RunMode mode) override {
    if (auto reason = reason_against(*cases.back())) return outcome::Unsupported{std::move(*reason)};
    return inner_->worker()->run_apart(cases, mode);
  }
  [[nodiscard]] bool starts_fast() const override { return inner_->worker()->starts_fast(); }
  [[nodiscard]] std::int64_t memory_held() override { return inner_->worker()->memory_held(); }
  [[nodiscard]] std::vector<Case> run_before(const Case& test_case) override {
    return inner_->worker()->run_before(test_case);
  }
  void note_that_it_remembers() override { inner_->worker()->note_that_it_remembers(); }
  void begin_anew() override { inner_->worker()->begin_anew(); }

 private:
  [[nodiscard]] bool withheld(const std::string& subject) const {
    return std::any_of(withheld_.begin(), withheld_.end(),
                       [&](const Check* check) { return check->subject == subject; });
  }
  [[nodiscard]] std::optional<std::string> reason_against(const Case& test_case) const {
    for (const Check* check : withheld_) {
      if (check->concerns(test_case))
        return "not offered: qconform's adapter fails its self-check on " + check->subject;
    }
    return std::nullopt;
  }

  std::unique_ptr<Backend> inner_;
  BackendInfo info_;
  std::vector<const Check*> withheld_;
  std::deque<std::optional<std::string>> started_;  ///< why each case that was started is declined
};

}  // namespace

std::vector<SelfCheckRow> self_check(Backend& backend) {
  std::vector<SelfCheckRow> rows;
  for (const Check& check : checks()) {
    backend.worker()->start(check.test_case);
    const Outcome outcome = backend.worker()->finish();
    rows.push_back(row_of(check, outcome));
    if (std::holds_alternative<outcome::TimedOut>(outcome)) break;  // the others would take as long
  }
  return rows;
}

std::unique_ptr<Backend> self_checked(std::unique_ptr<Backend> inner) {
  std::vector<SelfCheckRow> faults = self_check(*inner);
  std::erase_if(faults, [](const SelfCheckRow& row) { return row.kind != SelfCheckRow::Kind::adapter_fault; });
  if (faults.empty()) return inner;
  return std::make_unique<SelfChecked>(std::move(inner), std::move(faults));
}

}  // namespace qconform::backend
