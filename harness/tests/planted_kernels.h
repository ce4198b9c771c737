// Kernels that are broken on purpose, and backends that compute with them: what must be caught before anything that
// passes is believed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/backends/kinds.h"
#include "reference/kernels/kernels.h"

namespace qconform::testing {

/// The scalar reference, and kernel sets that differ from it in one planted defect each:
///   pad-raw-zero   a padded tap is raw 0 instead of the zero point (breaks rule C1)
///   pair-sat-i16   pairs of raw products saturate to int16, as in VPMADDUBSW (C18)
///   past-end       one byte behind the output is written
///   before-start   one byte before the output is written
[[nodiscard]] std::span<const reference::KernelSet> planted_kernel_sets();
/// The one of that name; throws std::logic_error where there is none.
[[nodiscard]] const reference::KernelSet& planted_kernel_set(std::string_view name);
/// Returns a backend of planted_kernel_set(name), correctly rounded and named as the set.
[[nodiscard]] inline std::unique_ptr<Backend> planted_backend(std::string_view name) {
  return backend::in_tree(planted_kernel_set(name), RoundingProfile::correctly_rounded, std::string(name));
}

}  // namespace qconform::testing
