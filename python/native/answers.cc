// The functions of interface.h that say what is right for a case, and whether outputs are.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/forms/json/profile_file.h"
#include "harness/model/judge/judge.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"
#include "python/native/handles.h"
#include "reports/render/single_case.h"

namespace qconform::python {
namespace {

Answer<void> refuse(Error error, std::string value = {}) {
  return tl::unexpected(Refusal{std::move(error), std::move(value)});
}

Answer<void> expect_case(qconform_case* handle, qconform_bytes profile, qconform_bytes overflow,
                         qconform_expected** result) {
  const std::string name(view_of(profile));
  const std::string sums(view_of(overflow));
  const auto policy = policy_named(name, sums);
  if (!policy) {
    Error error = policy.error();
    const bool is_overflow = error.field == "--overflow";
    if (error.field.starts_with("--")) error.field.erase(0, 2);  // an argument here, an option there
    return refuse(std::move(error), is_overflow ? sums : name);
  }
  auto made = std::make_unique<qconform_expected>();
  made->test_case = handle->value;
  made->value = expect(*made->test_case, *policy);
  *result = made.release();
  return {};
}

// Refuses where the case is out of contract, or has no output of this number.
Answer<void> check_output(const qconform_expected& of, std::uint64_t number) {
  const Classification& classification = of.value.classification;
  if (const auto& violation = classification.contract.violation) {
    return tl::unexpected(refusal_of(*of.test_case, *violation));
  }
  const std::size_t count = classification.lowered->outputs();
  if (number < count) return {};
  return refuse({"number", fmt::format("expected one of {} outputs, got {}", count, number), ""},
                std::to_string(number));
}

const Lowered& lowered_output(const qconform_expected& of, std::uint64_t number) {
  return of.value.classification.lowered->output(number);
}

Answer<void> facts_of(const qconform_expected& of, qconform_buffer* facts) {
  const Lowered* lowered = of.value.classification.lowered.get();
  nlohmann::json outputs = nlohmann::json::array();
  for (const std::string& name : output_names(*of.test_case)) {
    nlohmann::json output{{"name", name}, {"type", nullptr}, {"shape", nullptr}};
    if (lowered != nullptr) {
      output["type"] = static_cast<int>(lowered->output(outputs.size()).output_type());
      output["shape"] = lowered->output(outputs.size()).output_shape();
    }
    outputs.push_back(std::move(output));
  }
  *facts =
      buffer_of(nlohmann::json{{"outputs", outputs}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return {};
}

Answer<void> reference_of(const qconform_expected& of, std::uint64_t number, qconform_buffer* tensor) {
  if (auto checked = check_output(of, number); !checked) return checked;
  const Expected& expected = of.value;
  if (expected.classification.value_is_open) {
    Refusal open = refusal_of(*of.test_case, *expected.classification.deciding_remark());
    open.error.message += ": every value is right";
    return tl::unexpected(std::move(open));
  }
  const Tensor& right = number == 0 && expected.pinned ? *expected.pinned : expected.output_at(number);
  const auto bytes = tensor_bytes(right, output_names(*of.test_case)[number]);
  if (!bytes) return refuse(bytes.error());
  *tensor = buffer_of(*bytes);
  return {};
}

// The right values of one element; a profile from a file pins one.
RightValues right_values(const Expected& expected, const Lowered& lowered, std::uint64_t number, std::int64_t index) {
  if (expected.classification.value_is_open) return {.type = lowered.output_type(), .any_value = true};
  if (number != 0 || !expected.policy.pinned || !expected.pinned) return lowered.right_values(index, expected.policy);
  const std::uint64_t bits = raw_bits_at(expected.pinned->bytes, bits_of(lowered.output_type()), index);
  return {.type = lowered.output_type(), .ranges = {{bits, bits}}};
}

// Tensors of one dimension from patterns.
Result<std::string> patterns_as_tensor(ElementType type, const std::vector<std::uint64_t>& patterns,
                                       const std::string& name) {
  const auto count = static_cast<std::int64_t>(patterns.size());
  Tensor tensor = Tensor::zeros(type, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    set_raw_bits_at(tensor.bytes, bits_of(type), i, patterns[static_cast<std::size_t>(i)]);
  }
  return tensor_bytes(tensor, name);
}

struct Sets {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::uint64_t> low;
  std::vector<std::uint64_t> high;
  std::vector<std::uint8_t> flags;

  void add(const RightValues& right) {
    for (const auto& [lo, hi] : right.ranges) {
      low.push_back(lo);
      high.push_back(hi);
    }
    offsets.push_back(static_cast<std::int64_t>(low.size()));
    flags.push_back(static_cast<std::uint8_t>((right.any_value ? QCONFORM_ANY_VALUE : 0) |
                                              (right.any_nan ? QCONFORM_ANY_NAN : 0) |
                                              (right.either_zero ? QCONFORM_EITHER_ZERO : 0)));
  }
};

template <typename T>
qconform_buffer buffer_of_vector(const std::vector<T>& values) {
  return buffer_of({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

void release(qconform_right_values& values) {
  for (qconform_buffer* buffer : {&values.offsets, &values.low, &values.high, &values.flags}) {
    qconform_release_buffer(buffer);
  }
}

Answer<void> check_element(const Lowered& lowered, std::uint64_t first, std::uint64_t count) {
  const auto elements = static_cast<std::uint64_t>(elements_of(lowered.output_shape()));
  if (first <= elements && count <= elements - first) return {};
  return refuse({"elements", fmt::format("expected some of {}, got {} from {} on", elements, count, first), ""});
}

Answer<void> admissible(const qconform_expected& of, std::uint64_t number, std::uint64_t first, std::uint64_t count,
                        qconform_right_values* values) {
  if (auto checked = check_output(of, number); !checked) return checked;
  const Lowered& lowered = lowered_output(of, number);
  if (auto checked = check_element(lowered, first, count); !checked) return checked;
  Sets sets;
  for (std::uint64_t i = first; i < first + count; ++i) {
    sets.add(right_values(of.value, lowered, number, static_cast<std::int64_t>(i)));
  }
  const auto low = patterns_as_tensor(lowered.output_type(), sets.low, "low");
  const auto high = patterns_as_tensor(lowered.output_type(), sets.high, "high");
  if (!low || !high) return refuse(low ? high.error() : low.error());
  qconform_right_values made{};
  try {
    made.offsets = buffer_of_vector(sets.offsets);
    made.low = buffer_of(*low);
    made.high = buffer_of(*high);
    made.flags = buffer_of_vector(sets.flags);
  } catch (...) {
    release(made);
    throw;
  }
  *values = made;
  return {};
}

Answer<void> element_text_of(const qconform_expected& of, std::uint64_t number, std::uint64_t element,
                             qconform_buffer* text) {
  if (auto checked = check_output(of, number); !checked) return checked;
  const Lowered& lowered = lowered_output(of, number);
  if (auto checked = check_element(lowered, element, 1); !checked) return checked;
  const auto index = static_cast<std::int64_t>(element);
  const bool is_open = of.value.classification.value_is_open;
  const nlohmann::json json{{"admissible", text_of(right_values(of.value, lowered, number, index))},
                            {"exact", is_open ? std::string() : lowered.exact_value(index)}};
  *text = buffer_of(json.dump());
  return {};
}

Answer<void> right_elements(const qconform_expected& of, std::uint64_t number, qconform_bytes proto,
                            qconform_buffer* right) {
  if (auto checked = check_output(of, number); !checked) return checked;
  const Lowered& lowered = lowered_output(of, number);
  const auto got = tensor_from("output", proto);
  if (!got) return refuse(got.error());
  const Tensor& tensor = got->tensor;
  if (tensor.type != lowered.output_type() || tensor.shape != lowered.output_shape()) {
    return refuse({"output",
                   fmt::format("expected {} {}, got {} {}", name_of(lowered.output_type()),
                               shape_text(lowered.output_shape()), name_of(tensor.type), shape_text(tensor.shape)),
                   ""},
                  fmt::format("{} {}", name_of(tensor.type), shape_text(tensor.shape)));
  }
  const Expected& expected = of.value;
  const Tensor* pinned = number == 0 && expected.pinned ? &*expected.pinned : nullptr;
  std::vector<std::uint8_t> is_element_right(static_cast<std::size_t>(tensor.elements()), 1);
  TierCounts tiers;
  for (std::size_t i = 0; i < is_element_right.size() && !expected.classification.value_is_open; ++i) {
    is_element_right[i] = is_right(lowered, tensor, expected.output_at(number), pinned, expected.policy,
                                   static_cast<std::int64_t>(i), tiers)
                              ? 1
                              : 0;
  }
  *right = buffer_of_vector(is_element_right);
  return {};
}

Answer<void> judge_outputs(qconform_expected& of, const qconform_bytes* outputs, std::uint64_t count,
                           qconform_buffer* verdict) {
  outcome::Produced produced;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto one = tensor_from(fmt::format("outputs[{}]", i), outputs[i]);
    if (!one) return refuse(one.error());
    produced.outputs.push_back(std::move(one->tensor));
  }
  if (!of.is_assessed) assess(*of.test_case, of.value);
  of.is_assessed = true;
  const Classification& classification = of.value.classification;
  const reference::Remark* remark = classification.deciding_remark();
  *verdict =
      buffer_of(report::to_json(*of.test_case, classification.expectation(), remark == nullptr ? "" : remark->text(),
                                {{"python", judge(of.value, Outcome(std::move(produced)))}}));
  return {};
}

}  // namespace
}  // namespace qconform::python

using namespace qconform::python;

int32_t qconform_expect(qconform_case* handle, qconform_bytes profile, qconform_bytes overflow,
                        qconform_expected** result, qconform_buffer* error) {
  return call(error, [&] { return expect_case(handle, profile, overflow, result); });
}

void qconform_release_expected(qconform_expected* handle) {
  delete handle;
}

int32_t qconform_expected_facts(qconform_expected* handle, qconform_buffer* facts, qconform_buffer* error) {
  return locked(handle, error, [&] { return facts_of(*handle, facts); });
}

int32_t qconform_reference(qconform_expected* handle, uint64_t number, qconform_buffer* tensor,
                           qconform_buffer* error) {
  return locked(handle, error, [&] { return reference_of(*handle, number, tensor); });
}

int32_t qconform_admissible(qconform_expected* handle, uint64_t number, uint64_t first, uint64_t count,
                            qconform_right_values* values, qconform_buffer* error) {
  return locked(handle, error, [&] { return admissible(*handle, number, first, count, values); });
}

int32_t qconform_element(qconform_expected* handle, uint64_t number, uint64_t element, qconform_buffer* text,
                         qconform_buffer* error) {
  return locked(handle, error, [&] { return element_text_of(*handle, number, element, text); });
}

int32_t qconform_right_elements(qconform_expected* handle, uint64_t number, qconform_bytes tensor,
                                qconform_buffer* right, qconform_buffer* error) {
  return locked(handle, error, [&] { return right_elements(*handle, number, tensor, right); });
}

int32_t qconform_judge(qconform_expected* handle, const qconform_bytes* outputs, uint64_t count,
                       qconform_buffer* verdict, qconform_buffer* error) {
  return locked(handle, error, [&] { return judge_outputs(*handle, outputs, count, verdict); });
}
