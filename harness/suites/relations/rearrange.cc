#include "harness/suites/relations/rearrange.h"

#include <algorithm>
#include <numeric>

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

}  // namespace

std::vector<Link> links_to_all(std::size_t derived_cases, std::int64_t elements) {
  std::vector<Link> links;
  for (std::size_t derived = 0; derived < derived_cases; ++derived) {
    for (std::int64_t i = 0; i < elements; ++i) links.push_back({i, derived, i});
  }
  return links;
}

std::shared_ptr<const Agreement> offset_by(std::int64_t offset) {
  return std::make_shared<Offset>(offset);
}

void select_output_channels(Convolution& convolution, const Values& channels) {
  Values shape = convolution.w.shape;
  shape[0] = static_cast<std::int64_t>(channels.size());
  convolution.w = rearranged(convolution.w, shape, [&](Values index) {
    index[0] = channels[at(index[0])];
    return index;
  });
  convolution.w_zero_point = selected(convolution.w_zero_point, channels);
  convolution.w_scale = selected(convolution.w_scale, channels);
  if (!convolution.bias) return;
  Values bias;
  for (const std::int64_t channel : channels) bias.push_back((*convolution.bias)[at(channel)]);
  convolution.bias = std::move(bias);
}

void select_input_channels(Convolution& convolution, const Values& channels) {
  Values shape = convolution.x.shape;
  shape[1] = static_cast<std::int64_t>(channels.size());
  convolution.x = rearranged(convolution.x, shape, [&](Values index) {
    index[1] = channels[at(index[1])];
    return index;
  });
}

void select_images(Convolution& convolution, const Values& images) {
  Values shape = convolution.x.shape;
  shape[0] = static_cast<std::int64_t>(images.size());
  convolution.x = rearranged(convolution.x, shape, [&](Values index) {
    index[0] = images[at(index[0])];
    return index;
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
