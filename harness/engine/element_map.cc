#include "harness/engine/element_map.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "harness/engine/execute.h"
#include "harness/model/judge/judge.h"
#include "harness/model/text.h"

namespace qconform {
namespace {

// The widest of these boxes that fits, else as much of the last as does.
Box first_that_fits(const std::vector<Box>& boxes, const std::vector<std::int64_t>& shape, std::int64_t most) {
  for (const Box& box : boxes) {
    if (box.elements() <= most) return box;
  }
  Box box = boxes.back();
  const Box part = box_around(box.extent, std::vector<std::int64_t>(shape.size(), 0), most);
  box.extent = part.extent;
  return box;
}

class ElementMapBuilder {
 public:
  ElementMapBuilder(const Case& test_case, const Expected& expected, const Tensor& got, const Verdict& verdict,
                    const ElementMapLimits& limits)
      : case_(test_case),
        expected_(expected),
        lowered_(*expected.classification.lowered),
        got_(got),
        verdict_(verdict),
        limits_(limits) {}

  ElementMap build() {
    shown_ = box_around(got_.shape, verdict_.worst->index, limits_.output);
    worst_ = {verdict_.worst->index, std::vector<std::int64_t>(got_.shape.size(), 1)};
    map_.got = cut("y", got_, shown_);
    map_.wrong_elements = verdict_.wrong_elements;
    map_.worst = verdict_.worst->index;
    map_.geometry = lowered_.windows();
    add_elements();
    add_inputs();
    return std::move(map_);
  }

 private:
  void add_elements() {
    for (const std::int64_t index : indices_in(got_.shape, shown_)) {
      ElementView element = view(expected_, got_, index);
      map_.expected.push_back(std::move(element.expected));
      map_.exact.push_back(std::move(element.exact));
      map_.admissible.push_back(std::move(element.admissible));
      map_.wrong.push_back(!element.right);
      if (const auto parameter = lowered_.parameter_of(index)) map_.parameter.push_back(*parameter);
    }
  }

  void add_inputs() {
    const Operator* known = operator_of(case_);
    for (std::size_t i = 0; i < case_.inputs.size() && i < known->inputs.size(); ++i) {
      if (const Tensor* tensor = case_.input(i)) {
        const InputSignature& signature = known->inputs[i];
        map_.inputs.push_back(cut(std::string(signature.name), *tensor, part_of(*tensor, signature.role)));
      }
    }
  }

  [[nodiscard]] Box part_of(const Tensor& tensor, InputRole role) const {
    std::vector<Box> candidates{whole(tensor.shape)};
    for (const Box& output : {shown_, worst_}) {
      if (auto part = lowered_.read_by(role, output)) candidates.push_back(std::move(*part));
    }
    return first_that_fits(candidates, tensor.shape, limits_.input);
  }

  const Case& case_;
  const Expected& expected_;
  const Lowered& lowered_;
  const Tensor& got_;
  const Verdict& verdict_;
  const ElementMapLimits& limits_;
  Box shown_;  ///< the part of the output that the map has
  Box worst_;  ///< the worst element alone
  ElementMap map_;
};

std::int64_t values_in(const std::optional<ElementMap>& map) {
  if (!map) return 0;
  std::size_t count = map->got.values.size();
  for (const TensorBox& input : map->inputs) count += input.values.size();
  return static_cast<std::int64_t>(count);
}

class ReportMaps {
 public:
  ReportMaps(const Policy& policy, const ElementMapsLimits& limits) : policy_(policy), limits_(limits) {}

  void add_to(Finding& finding, Backend& backend) {
    finding.element_map = element_map(finding.example, backend, limits_.example);
    if (finding.shrinking && finding.shrinking->steps > 0) {
      finding.shrinking->element_map = element_map(finding.shrinking->original, backend, limits_.original);
    }
    if (finding.representative)
      finding.representative->element_map = element_map(finding.representative->test_case, backend, limits_.further);
  }

 private:
  std::optional<ElementMap> element_map(const Case& test_case, Backend& backend, const ElementMapLimits& limits) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    if (passed.count() >= limits_.seconds || values_ >= limits_.values) return std::nullopt;
    auto map = element_map_of(test_case, backend, policy_, limits);
    values_ += values_in(map);
    return map;
  }

  const Policy& policy_;
  const ElementMapsLimits& limits_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::int64_t values_ = 0;
};

}  // namespace

std::optional<ElementMap> element_map_of(const Case& test_case, Backend& backend, const Policy& policy,
                                         const ElementMapLimits& limits) {
  GuardedOutput memory;
  const Outcome outcome = execute(backend, test_case, memory);
  const Tensor* const produced = output_of(outcome);
  if (produced == nullptr) return std::nullopt;
  const Expected expected = expect(test_case, policy);
  const Verdict verdict = judge(expected, outcome);
  if (verdict.kind != VerdictKind::wrong) return std::nullopt;
  return ElementMapBuilder(test_case, expected, *produced, verdict, limits).build();
}

void add_element_maps(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                      const ElementMapsLimits& limits) {
  ReportMaps maps(policy, limits);
  for (const bool waived : {false, true}) {
    for (Finding& finding : report.findings) {
      if (finding.kind != VerdictKind::wrong || finding.waiver.has_value() != waived) continue;
      const auto backend = std::find_if(backends.begin(), backends.end(), [&](const auto& candidate) {
        return candidate->info().name == finding.backend;
      });
      if (backend != backends.end()) maps.add_to(finding, **backend);
    }
  }
}

namespace {

// `extent` elements of [0, size) with `center` in the middle, as far as the borders let it be.
std::int64_t begin_around(std::int64_t center, std::int64_t extent, std::int64_t size) {
  return std::clamp<std::int64_t>(center - extent / 2, 0, size - extent);
}

// Rows and columns of a plane of which `most` elements fit: a square, or longer where one side is short.
std::pair<std::int64_t, std::int64_t> plane_extent(std::int64_t rows, std::int64_t columns, std::int64_t most) {
  std::int64_t side = 1;
  while ((side + 1) * (side + 1) <= most) ++side;
  const std::int64_t fewest_columns = std::min(columns, side);
  const std::int64_t shown_rows = std::min(rows, most / fewest_columns);
  return {shown_rows, std::min(columns, most / shown_rows)};
}

}  // namespace

Box whole(const std::vector<std::int64_t>& shape) {
  return {std::vector<std::int64_t>(shape.size(), 0), shape};
}

Box box_around(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& center, std::int64_t most) {
  const std::size_t rank = shape.size();
  Box box{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 1)};
  if (elements_of(shape) == 0) return whole(shape);
  std::size_t outer = rank;
  if (rank >= 2) {
    outer = rank - 2;
    std::tie(box.extent[outer], box.extent[outer + 1]) = plane_extent(shape[outer], shape[outer + 1], most);
  }
  for (std::size_t d = outer; d-- > 0;) box.extent[d] = std::min(shape[d], most / box.elements());
  for (std::size_t d = 0; d < rank; ++d) box.begin[d] = begin_around(center[d], box.extent[d], shape[d]);
  return box;
}

std::vector<std::int64_t> indices_in(const std::vector<std::int64_t>& shape, const Box& box) {
  std::vector<std::int64_t> indices{0};
  if (box.elements() == 0) return {};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::int64_t> next;
    next.reserve(indices.size() * static_cast<std::size_t>(box.extent[d]));
    for (const std::int64_t index : indices) {
      for (std::int64_t i = 0; i < box.extent[d]; ++i) next.push_back(index * shape[d] + box.begin[d] + i);
    }
    indices = std::move(next);
  }
  return indices;
}

TensorBox cut(std::string name, const Tensor& tensor, const Box& box) {
  TensorBox result{.name = std::move(name),
                   .type = name_of(tensor.type),
                   .shape = tensor.shape,
                   .begin = box.begin,
                   .extent = box.extent,
                   .values = {}};
  const std::vector<std::int64_t> indices = indices_in(tensor.shape, box);
  result.values.reserve(indices.size());
  for (const std::int64_t index : indices) result.values.push_back(element_text(tensor, index));
  return result;
}

}  // namespace qconform
