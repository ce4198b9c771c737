// Element maps of failures: wrong outputs element by element, for the report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/backend.h"
#include "harness/core/element_map.h"
#include "harness/core/profile.h"
#include "harness/core/tensor.h"
#include "harness/model/operator.h"
#include "harness/report/report.h"

namespace qconform {

/// How much a map may hold. It leaves out first what lies farthest from the worst element.
struct ElementMapLimits {
  std::int64_t output = 4096;  ///< elements of the output
  std::int64_t input = 8192;   ///< elements of each input
};

/// Bounds on all maps of a report together; findings that come after these are spent have none.
struct ElementMapsLimits {
  ElementMapLimits example;                                  ///< bounds for the shrunk case
  ElementMapLimits original{.output = 1024, .input = 4096};  ///< bounds for the case as it was met
  ElementMapLimits further{.output = 4096, .input = 4096};   ///< bounds for the case with the clearest pattern
  std::int64_t values = 400'000;                             ///< elements in all maps together
  double seconds = 20;
};

/// Runs the case on the backend; nullopt unless values are wrong.
[[nodiscard]] std::optional<ElementMap> element_map_of(const Case& test_case, Backend& backend, const Policy& policy,
                                                       const ElementMapLimits& limits = {});

/// Gives each finding of wrong values its maps, those that no waiver covers first. Call it when the
/// examples are final.
void add_element_maps(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                      const ElementMapsLimits& limits = {});

/// All of a tensor.
[[nodiscard]] Box whole(const std::vector<std::int64_t>& shape);

/// At most `most` elements around the one at `center`: as much of its plane, the last two dimensions, as
/// there is room for, then neighbours along the dimensions before, from the innermost.
[[nodiscard]] Box box_around(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& center,
                             std::int64_t most);

/// The flat indices of a box's elements, in its order.
[[nodiscard]] std::vector<std::int64_t> indices_in(const std::vector<std::int64_t>& shape, const Box& box);

/// The box's elements, as text.
[[nodiscard]] TensorBox cut(std::string name, const Tensor& tensor, const Box& box);

}  // namespace qconform
