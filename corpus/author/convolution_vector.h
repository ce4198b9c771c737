// Vectors that are the same for both convolutions.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "corpus/author/topics.h"

namespace qconform::author {

template <typename Builder>
inline constexpr bool kIsQLinearConv = std::is_same_v<Builder, QLinearConvBuilder>;

/// A vector whose QLinearConv form returns the sums themselves as int8: every scale is 1, y's zero
/// point 0. Sums from -128 to 127 are then right answers of both operators.
template <typename Builder>
Builder vector(std::string id, std::string note, std::vector<std::string> rules, std::vector<std::string> tags = {}) {
  Builder builder;
  builder.id(std::move(id)).note(std::move(note)).rules(std::move(rules)).tags(std::move(tags));
  if constexpr (kIsQLinearConv<Builder>) builder.y_type(ElementType::int8);
  return builder;
}

/// The same where sums are larger: QLinearConv divides them by 2^shift into uint8 around 128.
template <typename Builder>
Builder wide_vector(int shift, std::string id, std::string note, std::vector<std::string> rules,
                    std::vector<std::string> tags = {}) {
  Builder builder = vector<Builder>(std::move(id), std::move(note), std::move(rules), std::move(tags));
  if constexpr (kIsQLinearConv<Builder>) {
    builder.y_type(ElementType::uint8).y_zero_point(128).y_scale(static_cast<float>(std::int64_t{1} << shift));
  }
  return builder;
}

/// One weight zero point, and for QLinearConv one scale of 1, for each output channel (shape [M]).
template <typename Builder>
Builder per_channel(Builder builder, const std::vector<std::int64_t>& w_zero_points) {
  builder.w_zero_point(w_zero_points);
  if constexpr (kIsQLinearConv<Builder>) builder.w_scale(std::vector<float>(w_zero_points.size(), 1.0F));
  return builder;
}

/// Adds the topic `name` for each of the two operators: write.operator()<Builder>(topic).
template <typename Write>
void write_both(Topics& topics, const std::string& name, const Write& write) {
  topics.emplace_back("qlinear_conv/" + name + ".json");
  write.template operator()<QLinearConvBuilder>(topics.back());
  topics.emplace_back("conv_integer/" + name + ".json");
  write.template operator()<ConvIntegerBuilder>(topics.back());
}

}  // namespace qconform::author
