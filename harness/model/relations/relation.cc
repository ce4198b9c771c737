#include "harness/model/relations/relation.h"

#include <algorithm>
#include <numeric>

#include "harness/model/text.h"

namespace qconform::relations {
namespace {

class Offset final : public Agreement {
 public:
  explicit Offset(std::int64_t offset) : offset_(offset) {}
  [[nodiscard]] bool holds(const Tensor& base, const Tensor& derived, const Link& link) const override {
    return integer_at(derived, link.element) == integer_at(base, link.base) + offset_;
  }
  [[nodiscard]] std::string required(const Tensor& base, const Link& link) const override {
    return std::to_string(integer_at(base, link.base) + offset_);
  }

 private:
  std::int64_t offset_;
};

class MovedByOne final : public Agreement {
 public:
  MovedByOne(IntegerEnds ends, std::int64_t step) : ends_(ends), step_(step) {}

  [[nodiscard]] bool holds(const Tensor& base, const Tensor& derived, const Link& link) const override {
    const IntegerEnds allowed = allowed_after(integer_at(base, link.base));
    const std::int64_t got = integer_at(derived, link.element);
    return got >= allowed.lo && got <= allowed.hi;
  }
  [[nodiscard]] std::string required(const Tensor& base, const Link& link) const override {
    const IntegerEnds allowed = allowed_after(integer_at(base, link.base));
    return allowed.lo == allowed.hi ? std::to_string(allowed.lo)
                                    : std::to_string(allowed.lo) + " or " + std::to_string(allowed.hi);
  }

 private:
  [[nodiscard]] IntegerEnds allowed_after(std::int64_t value) const {
    const std::int64_t moved = value + step_;
    if (moved < ends_.lo || moved > ends_.hi) return {value, value};
    const bool may_stay = value == (step_ > 0 ? ends_.lo : ends_.hi);
    return may_stay ? IntegerEnds{std::min(value, moved), std::max(value, moved)} : IntegerEnds{moved, moved};
  }

  IntegerEnds ends_;
  std::int64_t step_;
};

}  // namespace

std::int64_t shift_to_other_sign(ElementType type) {
  return type == ElementType::int8 ? 128 : -128;
}

Values integer_values(const Tensor& tensor) {
  Values values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) values.push_back(integer_at(tensor, i));
  return values;
}

Tensor shifted(const Tensor& tensor) {
  const std::int64_t by = shift_to_other_sign(tensor.type);
  Values values = integer_values(tensor);
  for (std::int64_t& value : values) value += by;
  return make::integers(with_other_sign(tensor.type), tensor.shape, values);
}

std::vector<Link> links_to_all(std::size_t derived_cases, std::int64_t elements) {
  std::vector<Link> links;
  for (std::size_t derived = 0; derived < derived_cases; ++derived) {
    for (std::int64_t i = 0; i < elements; ++i) links.push_back({i, derived, i});
  }
  return links;
}

Applied shifted_output(Case derived, std::int64_t offset) {
  return Derivation([derived = std::move(derived), offset](const Tensor&) {
    return Application{{derived}, {}, std::make_shared<Offset>(offset)};
  });
}

Applied moved_output(Case derived, IntegerEnds ends, std::int64_t step) {
  return Derivation([derived = std::move(derived), ends, step](const Tensor&) {
    return Application{{derived}, {}, std::make_shared<MovedByOne>(ends, step)};
  });
}

Values counting(std::int64_t first, std::int64_t count) {
  Values values(at(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

Values counting_down(std::int64_t count) {
  Values values = counting(0, count);
  std::reverse(values.begin(), values.end());
  return values;
}

}  // namespace qconform::relations
