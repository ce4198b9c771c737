// Declarations that the two versions of the C interface share, and functions that make a backend of each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/backends/specification.h"
#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/include/qconform/backend.h"

namespace qconform::backend {

/// The reason that a function of a library gives beside its status.
class PluginReason {
 public:
  static constexpr std::size_t kBytes = 512;

  /// The reason on one line, or `otherwise` where none was given.
  [[nodiscard]] std::string text(const char* otherwise);

  std::array<char, kBytes> memory{};
};

/// Why a library is not handed a case of several nodes.
inline constexpr const char* kTakesNoGraphs = "takes no graphs of several nodes: it does not say that it takes units";

using PluginRefusal = std::variant<outcome::Unsupported, outcome::Rejected, outcome::BrokenInterface>;

/// The refusal that a status means; none for QC_OK. A status that backend.h does not define is a broken interface.
[[nodiscard]] std::optional<PluginRefusal> refusal_of(int status, PluginReason& reason);

/// An attribute in the terms of either version; what it points to is the attribute's own.
template <typename T>
[[nodiscard]] T attribute_for_plugin(const Attribute& attribute) {
  T result{};
  if constexpr (requires { result.size; }) result.size = sizeof result;
  result.name = attribute.name.c_str();
  if (const auto* i = std::get_if<std::int64_t>(&attribute.value)) {
    result.kind = QC_INT;
    result.i = *i;
  } else if (const auto* f = std::get_if<float>(&attribute.value)) {
    result.kind = QC_FLOAT;
    result.f = *f;
  } else if (const auto* s = std::get_if<std::string>(&attribute.value)) {
    result.kind = QC_STRING;
    result.s = s->c_str();
    result.count = s->size();
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    result.kind = QC_INTS;
    result.ints = ints->data();
    result.count = ints->size();
  } else if (const auto* floats = std::get_if<std::vector<float>>(&attribute.value)) {
    result.kind = QC_FLOATS;
    result.floats = floats->data();
    result.count = floats->size();
  }
  return result;
}

/// Memory for an output of the type and shape that a library states; null where those are invalid.
[[nodiscard]] void* allocate_for_plugin(OutputSink& sink, std::size_t output, std::int32_t type, std::int32_t rank,
                                        const std::int64_t* dims);

/// `functions` lives as long as the process. Errors, of the field "plugin:PATH": what it lacks or refuses.
[[nodiscard]] Result<std::unique_ptr<Backend>> plugin_of_version_1(const qc_backend& functions,
                                                                   const Specification& what);
[[nodiscard]] Result<std::unique_ptr<Backend>> plugin_of_version_2(const qc2_backend& functions,
                                                                   const Specification& what);

/// "plugin:./libmine.so", for errors.
[[nodiscard]] std::string plugin_field(const Specification& what);

}  // namespace qconform::backend
