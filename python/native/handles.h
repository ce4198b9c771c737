// The objects behind the handles of interface.h, and the way in which its functions end.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/suite.h"
#include "harness/model/judge/judge.h"
#include "harness/onnx/case_model.h"
#include "python/native/interface.h"

struct qconform_case {
  std::shared_ptr<const qconform::Case> value;
};

struct qconform_expected {
  std::shared_ptr<const qconform::Case> test_case;  ///< the case that `value` refers to
  qconform::Expected value;
  std::mutex mutex;  ///< held while what is right is computed, which is when it is asked for
  bool is_assessed = false;
};

struct qconform_suite {
  std::vector<std::unique_ptr<qconform::Suite>> sources;
  std::size_t current = 0;
  std::mutex mutex;
};

namespace qconform::python {

/// An error, and the value of the field that it names.
struct Refusal {
  Error error;
  std::string value = {};
};

/// The value that a case has for what an error names: an attribute's, or the type and shape of an input. Empty where
/// the field is neither.
[[nodiscard]] std::string value_of(const Case& test_case, std::string_view field);
/// The remark that puts a case out of contract, as an error.
[[nodiscard]] Refusal refusal_of(const Case& test_case, const reference::Remark& remark);

[[nodiscard]] std::string_view view_of(qconform_bytes bytes);
/// Throws std::bad_alloc.
[[nodiscard]] qconform_buffer buffer_of(std::string_view bytes);
void fill_error(const Refusal& refusal, qconform_buffer* error) noexcept;

template <typename T>
using Answer = tl::expected<T, Refusal>;

/// Runs `body`, which returns Result<void> or Answer<void>, and ends a function of the interface.
template <typename Body>
int32_t call(qconform_buffer* error, Body body) noexcept {
  try {
    auto result = body();
    if (result) return QCONFORM_OK;
    if constexpr (std::is_same_v<decltype(result), Result<void>>) {
      fill_error({result.error()}, error);
    } else {
      fill_error(result.error(), error);
    }
  } catch (const std::exception& thrown) {
    fill_error({{"", std::string("internal error: ") + thrown.what(), ""}}, error);
  }
  return QCONFORM_ERROR;
}

/// A tensor from a serialized TensorProto, with its name. Errors have the field `what`.
[[nodiscard]] Result<FedTensor> tensor_from(const std::string& what, qconform_bytes proto);
[[nodiscard]] Result<std::string> tensor_bytes(const Tensor& tensor, const std::string& name);

/// Runs `body` as call() does, on a handle that changes: one call at a time. The sets of an expectation are computed
/// when they are asked for.
template <typename Handle, typename Body>
std::int32_t locked(Handle* handle, qconform_buffer* error, Body body) noexcept {
  return call(error, [&] {
    const std::lock_guard lock(handle->mutex);
    return body();
  });
}

}  // namespace qconform::python
