// QLinearConv and ConvInteger, stage by stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/diagnose/models/stages.h"

namespace qconform::diagnose {

/// The geometry stages on a resolved geometry. False when what they make of it has no output, or more
/// elements than qconform handles.
[[nodiscard]] bool apply_geometry(const ConvolutionStages& stages, const StatedGeometry& stated,
                                  ConvolutionGeometry& geometry);

/// One node, its geometry applied. `quantized` is null for ConvInteger. What it is given must outlive it.
class ConvolutionPipeline {
 public:
  ConvolutionPipeline(const Stages& stages, const ConvolutionOperands& operands, const QLinearConv* quantized,
                      std::span<const std::byte> x, std::span<const std::byte> w);

  /// y has the size of the output: one byte for each element, or four for ConvInteger's.
  void run(std::span<std::byte> y);

 private:
  void read_weights();
  void locate_taps(std::int64_t output_position);
  void read_x(std::int64_t image, std::int64_t group);
  [[nodiscard]] std::int64_t sum_of(std::int64_t image, std::int64_t channel);
  void store(std::span<std::byte> y, std::int64_t index, std::int64_t channel, std::int64_t sum) const;

  const Stages& stages_;
  const ConvolutionOperands& operands_;
  const ConvolutionGeometry& geometry_;
  const QLinearConv* quantized_;
  std::span<const std::byte> x_;
  std::span<const std::byte> w_;

  std::vector<std::int32_t> weights_;  // as read, [channel][input channel][tap]
  std::vector<std::int64_t> offsets_;  // of the window's taps in a plane
  bool touches_padding_ = false;
  bool is_empty_ = false;  // wholly in padding
  std::int32_t x_zero_point_ = 0;
  std::vector<std::int32_t> x_values_;
  std::vector<std::int32_t> x_differences_;
  std::vector<std::int64_t> previous_;  // the last sum in each plane of y
};

}  // namespace qconform::diagnose
