// A narrow kernel in the style of libraries for servers: QLinearConv of uint8 in one or two dimensions, channels first,
// weight zero points for the tensor or for each channel, requantization in float32. It computes along one of six
// paths, by shape:
//
//   fully connected     the window is all of x: dot products along memory
//   pointwise           1x1, stride 1, no padding: the planes of x are the matrix that the weights are multiplied with
//   depthwise 3x3       one channel in for each group, stride and dilation 1: the nine weights stay in registers
//   depthwise           one channel in for each group: each tap adds a stretch of a row of x to a row of sums
//   stem                few channels in, as of an image: each tap adds a stretch to the rows of several output channels
//   gathered            anything else: windows are copied into columns (im2col), strip by strip
//
// The matrix products take the raw bytes:
//   sum((x - xz) * (w - wz)) = sum(x * w) - wz * sum(x) - xz * sum(w) + depth * xz * wz
// where sum(x) is the same for all channels of a group, and what has no x in it is hoisted into the value that sums
// begin with. A tap in the padding then has to read the zero point of x.
#include <qconform/node.hpp>

#include <array>
#include <cfloat>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

// Wraps around as a register of 32 bits does.
using Sum = std::uint32_t;

constexpr std::int64_t kChannelBlock = 4;  // output channels that the matrix product computes at once
constexpr std::int64_t kPixelBlock = 16;   // pixels that the matrix product computes at once
constexpr std::int64_t kStrip = 64;        // windows that are gathered before they are multiplied
constexpr std::int64_t kStemInputs = 4;    // input channels of a group: with more, copying windows pays
constexpr std::int64_t kDotStep = 8;       // products of a dot product that are summed side by side

Sum product(std::int32_t a, std::int32_t b) {
  return static_cast<Sum>(a * b);
}

// ---- Requantization in float32 ----

class Requantization {
 public:
  explicit Requantization(const qc::Convolution& c) : is_signed_(c.y_type == QC_INT8), zero_point_(c.y_zero_point) {
    const int lowest = is_signed_ ? -128 : 0;
    least_ = static_cast<float>(lowest - zero_point_);
    most_ = static_cast<float>(lowest + 255 - zero_point_);
    for (const float w_scale : c.w_scale) {
      const float multiplier = c.x_scale * w_scale / c.y_scale;
      // An infinite one would make NaN of a sum of 0.
      multipliers_.push_back(multiplier <= FLT_MAX ? multiplier : FLT_MAX);
    }
  }

  // `count` sums of output channel `m`.
  void store(const Sum* sums, std::int64_t m, std::int64_t count, std::uint8_t* y) const {
    const float multiplier = multipliers_[static_cast<std::size_t>(m)];
    for (std::int64_t i = 0; i < count; ++i) y[i] = rounded(sums[i], multiplier);
  }

 private:
  // Clamped before it is rounded, so that adding 1.5 * 2^23 leaves the nearest integer, ties to even, in the lowest
  // bits.
  std::uint8_t rounded(Sum sum, float multiplier) const {
    constexpr float kMagic = 12582912.0F;
    const float value = static_cast<float>(static_cast<std::int32_t>(sum)) * multiplier;
    const float magic = std::min(std::max(value, least_), most_) + kMagic;
    std::int32_t bits;
    std::memcpy(&bits, &magic, sizeof bits);
    return static_cast<std::uint8_t>(bits - 0x4B400000 + zero_point_);
  }

  bool is_signed_;
  std::int32_t zero_point_;
  float least_;  // the least value of y before the zero point is added
  float most_;
  std::vector<float> multipliers_;
};

// ---- Shapes ----

// Sizes of one image. A convolution of one dimension is one of a single row.
struct Shape {
  explicit Shape(const qc::Convolution& c)
      : rows(c.axes.size() == 2 ? c.axes[0] : qc::Axis{1, 1, 1, 1, 0, 0, 1}),
        columns(c.axes.back()),
        x_plane(rows.input * columns.input),
        y_plane(rows.output * columns.output),
        x_image(c.input_channels * x_plane),
        y_image(c.output_channels * y_plane) {}

  bool is_unpadded() const {
    return rows.pad_begin == 0 && rows.pad_end == 0 && columns.pad_begin == 0 && columns.pad_end == 0;
  }
  bool has_stride() const { return rows.stride != 1 || columns.stride != 1; }
  bool has_dilation() const { return rows.dilation != 1 || columns.dilation != 1; }

  qc::Axis rows;
  qc::Axis columns;
  std::int64_t x_plane;
  std::int64_t y_plane;
  std::int64_t x_image;
  std::int64_t y_image;
};

// Output positions [begin, end) of an axis at which tap `tap` lies inside x.
struct Reach {
  Reach(const qc::Axis& axis, std::int64_t tap) : offset(tap * axis.dilation - axis.pad_begin) {
    begin = offset >= 0 ? 0 : std::min(axis.output, (-offset + axis.stride - 1) / axis.stride);
    end = axis.input <= offset ? 0 : std::min(axis.output, (axis.input - offset - 1) / axis.stride + 1);
    end = std::max(begin, end);
  }
  std::int64_t offset;  // the position in x of the value that output 0 reads
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

enum class Path { fully_connected, pointwise, depthwise_3x3, depthwise, stem, gathered };

Path path_of(const qc::Convolution& c, const Shape& shape) {
  const qc::Axis& rows = shape.rows;
  const qc::Axis& columns = shape.columns;
  const bool is_all_of_x = rows.kernel == rows.input && columns.kernel == columns.input && shape.is_unpadded();
  if (is_all_of_x && !shape.has_dilation()) return Path::fully_connected;
  if (c.is_pointwise() && !shape.has_stride() && shape.is_unpadded()) return Path::pointwise;
  if (!c.is_depthwise()) return c.group_inputs() <= kStemInputs ? Path::stem : Path::gathered;
  const bool is_3x3 = rows.kernel == 3 && columns.kernel == 3;
  return is_3x3 && !shape.has_stride() && !shape.has_dilation() ? Path::depthwise_3x3 : Path::depthwise;
}

// ---- Weights ----

// Terms that complete the products of raw bytes, for each output channel.
class Corrections {
 public:
  explicit Corrections(const qc::Convolution& c) : zero_points_(c.w_zero_point) {
    const std::int64_t depth = c.group_inputs() * c.taps();
    const auto* w = static_cast<const std::uint8_t*>(c.w);
    for (std::int64_t m = 0; m < c.output_channels; ++m, w += depth) {
      Sum weight_sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) weight_sum += w[k];
      const auto zero_point = static_cast<Sum>(zero_points_[static_cast<std::size_t>(m)]);
      const auto x_zero_point = static_cast<Sum>(c.x_zero_point);
      initial_.push_back(static_cast<Sum>(c.bias[static_cast<std::size_t>(m)]) - x_zero_point * weight_sum +
                         static_cast<Sum>(depth) * x_zero_point * zero_point);
      is_needed_ = is_needed_ || zero_point != 0;
    }
  }

  // Whether sums of x are needed at all.
  bool need_x_sums() const { return is_needed_; }
  // The sum of a whole window from its products and from the sum of its bytes.
  Sum completed(Sum products, Sum x_sum, std::int64_t m) const {
    const auto channel = static_cast<std::size_t>(m);
    return products + initial_[channel] - static_cast<Sum>(zero_points_[channel]) * x_sum;
  }

 private:
  std::vector<std::int32_t> zero_points_;
  std::vector<Sum> initial_;
  bool is_needed_ = false;
};

// The weights of kChannelBlock output channels of a group side by side, for each of `depth` values; zeros where a group
// has no further channel.
class PackedMatrix {
 public:
  explicit PackedMatrix(const qc::Convolution& c)
      : depth_(c.group_inputs() * c.taps()),
        group_outputs_(c.group_outputs()),
        blocks_((group_outputs_ + kChannelBlock - 1) / kChannelBlock) {
    const auto* w = static_cast<const std::uint8_t*>(c.w);
    weights_.assign(static_cast<std::size_t>(c.groups * blocks_ * depth_ * kChannelBlock), 0);
    for (std::int64_t m = 0; m < c.output_channels; ++m) {
      const std::int64_t within = m % group_outputs_;
      std::uint8_t* to = block(m / group_outputs_, within / kChannelBlock) + within % kChannelBlock;
      for (std::int64_t k = 0; k < depth_; ++k) to[k * kChannelBlock] = w[m * depth_ + k];
    }
  }

  std::int64_t depth() const { return depth_; }
  std::int64_t blocks() const { return blocks_; }
  std::int64_t channels_in(std::int64_t index) const {
    return std::min(kChannelBlock, group_outputs_ - index * kChannelBlock);
  }
  const std::uint8_t* weights(std::int64_t group, std::int64_t index) const {
    return weights_.data() + (group * blocks_ + index) * depth_ * kChannelBlock;
  }

 private:
  std::uint8_t* block(std::int64_t group, std::int64_t index) {
    return weights_.data() + (group * blocks_ + index) * depth_ * kChannelBlock;
  }

  std::int64_t depth_;
  std::int64_t group_outputs_;
  std::int64_t blocks_;
  std::vector<std::uint8_t> weights_;
};

// ---- Matrix products ----

// Columns of a matrix of bytes: value k of column p lies at values[k * stride + p].
struct Columns {
  const std::uint8_t* values;
  std::int64_t stride;

  Columns from(std::int64_t first) const { return {values + first, stride}; }
};

using BlockSums = std::array<std::array<Sum, kPixelBlock>, kChannelBlock>;

// Products of `count` columns, up to kPixelBlock, with the weights of a block. `whole` is known when this is compiled,
// and so is the number of columns then.
template <bool whole>
void multiply(const Columns& columns, std::int64_t depth, std::int64_t count, const std::uint8_t* weights,
              BlockSums& sums) {
  const std::int64_t width = whole ? kPixelBlock : count;
  for (auto& row : sums) row.fill(0);
  for (std::int64_t k = 0; k < depth; ++k, weights += kChannelBlock) {
    const std::uint8_t* values = columns.values + k * columns.stride;
    for (std::size_t channel = 0; channel < kChannelBlock; ++channel) {
      const std::int32_t weight = weights[channel];
      for (std::int64_t p = 0; p < width; ++p) sums[channel][static_cast<std::size_t>(p)] += product(values[p], weight);
    }
  }
}

// Adds up each of `count` columns.
void add_columns(const Columns& columns, std::int64_t depth, std::int64_t count, Sum* sums) {
  std::fill(sums, sums + count, 0);
  for (std::int64_t k = 0; k < depth; ++k) {
    const std::uint8_t* values = columns.values + k * columns.stride;
    for (std::int64_t p = 0; p < count; ++p) sums[p] += values[p];
  }
}

struct DotSums {
  Sum products = 0;
  Sum values = 0;
};

// The products of two stretches of memory, and the sum of the first.
DotSums dot(const std::uint8_t* x, const std::uint8_t* w, std::int64_t depth) {
  std::array<DotSums, kDotStep> lanes{};
  std::int64_t k = 0;
  for (; k + kDotStep <= depth; k += kDotStep) {
    for (std::int64_t lane = 0; lane < kDotStep; ++lane) {
      lanes[static_cast<std::size_t>(lane)].products += product(x[k + lane], w[k + lane]);
      lanes[static_cast<std::size_t>(lane)].values += x[k + lane];
    }
  }
  DotSums total;
  for (const DotSums& lane : lanes) {
    total.products += lane.products;
    total.values += lane.values;
  }
  for (; k < depth; ++k) {
    total.products += product(x[k], w[k]);
    total.values += x[k];
  }
  return total;
}

// ---- Convolutions as matrix products ----

class MatrixConvolution {
 public:
  MatrixConvolution(const qc::Convolution& c, const Shape& shape, const Requantization& requantization)
      : c_(c), shape_(shape), requantization_(requantization), corrections_(c), matrix_(c) {}

  // Bytes of scratch memory for gathered().
  std::size_t strip_bytes() const { return static_cast<std::size_t>(matrix_.depth() * kStrip); }

  // The window of a group is as long as its weights, and lies as they do.
  void fully_connected(const std::uint8_t* x, std::uint8_t* y) const {
    const auto* w = static_cast<const std::uint8_t*>(c_.w);
    for (std::int64_t m = 0; m < c_.output_channels; ++m) {
      const std::int64_t group = m / c_.group_outputs();
      const DotSums sums = dot(x + group * matrix_.depth(), w + m * matrix_.depth(), matrix_.depth());
      const Sum sum = corrections_.completed(sums.products, sums.values, m);
      requantization_.store(&sum, m, 1, y + m);
    }
  }

  void pointwise(const std::uint8_t* x, std::uint8_t* y) const {
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      const Columns planes{x + group * matrix_.depth() * shape_.x_plane, shape_.x_plane};
      for_each_strip(
          [&](std::int64_t first, std::int64_t count) { multiply_strip(planes.from(first), count, group, y + first); });
    }
  }

  void gathered(const std::uint8_t* x, std::uint8_t* strip, std::uint8_t* y) const {
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      const std::uint8_t* planes = x + group * c_.group_inputs() * shape_.x_plane;
      for_each_strip([&](std::int64_t first, std::int64_t count) {
        gather(planes, first, count, strip);
        multiply_strip({strip, kStrip}, count, group, y + first);
      });
    }
  }

 private:
  template <typename Work>
  void for_each_strip(Work work) const {
    for (std::int64_t first = 0; first < shape_.y_plane; first += kStrip) {
      work(first, std::min(kStrip, shape_.y_plane - first));
    }
  }

  // `count` columns times the weights of a group; `y` is the first of their pixels in plane 0.
  void multiply_strip(const Columns& columns, std::int64_t count, std::int64_t group, std::uint8_t* y) const {
    std::array<Sum, kStrip> x_sums{};
    if (corrections_.need_x_sums()) add_columns(columns, matrix_.depth(), count, x_sums.data());
    for (std::int64_t index = 0; index < matrix_.blocks(); ++index) {
      const std::uint8_t* weights = matrix_.weights(group, index);
      const std::int64_t m = group * c_.group_outputs() + index * kChannelBlock;
      for (std::int64_t p = 0; p < count; p += kPixelBlock) {
        const std::int64_t width = std::min(kPixelBlock, count - p);
        BlockSums sums;
        if (width == kPixelBlock) {
          multiply<true>(columns.from(p), matrix_.depth(), width, weights, sums);
        } else {
          multiply<false>(columns.from(p), matrix_.depth(), width, weights, sums);
        }
        for (std::int64_t channel = 0; channel < matrix_.channels_in(index); ++channel) {
          complete(sums[static_cast<std::size_t>(channel)].data(), x_sums.data() + p, width, m + channel,
                   y + (m + channel) * shape_.y_plane + p);
        }
      }
    }
  }

  void complete(Sum* sums, const Sum* x_sums, std::int64_t count, std::int64_t m, std::uint8_t* y) const {
    for (std::int64_t p = 0; p < count; ++p) sums[p] = corrections_.completed(sums[p], x_sums[p], m);
    requantization_.store(sums, m, count, y);
  }

  // Copies the windows of `count` output pixels into columns of `strip`, a row of the output at a time.
  void gather(const std::uint8_t* planes, std::int64_t first, std::int64_t count, std::uint8_t* strip) const {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t i = (first + done) / shape_.columns.output;
      const std::int64_t j = (first + done) % shape_.columns.output;
      const std::int64_t length = std::min(count - done, shape_.columns.output - j);
      gather_row(planes, i, j, length, strip + done);
      done += length;
    }
  }

  // Those of the output pixels [j, j + length) of row i.
  void gather_row(const std::uint8_t* planes, std::int64_t i, std::int64_t j, std::int64_t length,
                  std::uint8_t* to) const {
    for (std::int64_t channel = 0; channel < c_.group_inputs(); ++channel, planes += shape_.x_plane) {
      for (std::int64_t tap_row = 0; tap_row < shape_.rows.kernel; ++tap_row) {
        const std::int64_t row = shape_.rows.first(i) + tap_row * shape_.rows.dilation;
        const bool is_inside = row >= 0 && row < shape_.rows.input;
        for (std::int64_t tap = 0; tap < shape_.columns.kernel; ++tap, to += kStrip) {
          if (is_inside) {
            gather_tap(planes + row * shape_.columns.input, Reach(shape_.columns, tap), j, length, to);
          } else {
            fill_with_zero_point(to, length);
          }
        }
      }
    }
  }

  // Gathers the values that one tap of the windows reads in a row of x.
  void gather_tap(const std::uint8_t* row, const Reach& reach, std::int64_t j, std::int64_t length,
                  std::uint8_t* to) const {
    const std::int64_t begin = std::clamp(reach.begin - j, std::int64_t{0}, length);
    const std::int64_t end = std::clamp(reach.end - j, begin, length);
    fill_with_zero_point(to, begin);
    fill_with_zero_point(to + end, length - end);
    const std::int64_t stride = shape_.columns.stride;
    const std::uint8_t* from = row + (j + begin) * stride + reach.offset;
    if (stride == 1) {
      std::copy(from, from + (end - begin), to + begin);
      return;
    }
    for (std::int64_t p = begin; p < end; ++p, from += stride) to[p] = *from;
  }

  void fill_with_zero_point(std::uint8_t* to, std::int64_t count) const {
    std::fill(to, to + count, static_cast<std::uint8_t>(c_.x_zero_point));
  }

  const qc::Convolution& c_;
  const Shape& shape_;
  const Requantization& requantization_;
  Corrections corrections_;
  PackedMatrix matrix_;
};

// ---- Convolutions of few channels ----

// Weights without their zero points, of kChannelBlock output channels of a group side by side, by input channel and
// tap. A tap in the padding is left out.
class StemConvolution {
 public:
  StemConvolution(const qc::Convolution& c, const Shape& shape, const Requantization& requantization)
      : c_(c),
        shape_(shape),
        requantization_(requantization),
        depth_(c.group_inputs() * c.taps()),
        blocks_((c.group_outputs() + kChannelBlock - 1) / kChannelBlock) {
    const auto* w = static_cast<const std::uint8_t*>(c.w);
    weights_.assign(static_cast<std::size_t>(c.groups * blocks_ * depth_), {});
    for (std::int64_t m = 0; m < c.output_channels; ++m) {
      const std::int64_t within = m % c.group_outputs();
      const std::int64_t block = m / c.group_outputs() * blocks_ + within / kChannelBlock;
      for (std::int64_t k = 0; k < depth_; ++k) {
        weights_[static_cast<std::size_t>(block * depth_ + k)][static_cast<std::size_t>(within % kChannelBlock)] =
            *w++ - c.w_zero_point[static_cast<std::size_t>(m)];
      }
    }
    for (std::int64_t tap = 0; tap < shape.columns.kernel; ++tap) reaches_.emplace_back(shape.columns, tap);
  }

  // Bytes of scratch memory for the rows of sums of a block.
  std::size_t row_bytes() const {
    return static_cast<std::size_t>(kChannelBlock * shape_.columns.output) * sizeof(Sum);
  }

  void run(const std::uint8_t* x, Sum* sums, std::uint8_t* y) const {
    const std::int64_t width = shape_.columns.output;
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      const std::uint8_t* planes = x + group * c_.group_inputs() * shape_.x_plane;
      for (std::int64_t index = 0; index < blocks_; ++index) {
        const std::int64_t m = group * c_.group_outputs() + index * kChannelBlock;
        const std::int64_t channels = std::min(kChannelBlock, c_.group_outputs() - index * kChannelBlock);
        for (std::int64_t i = 0; i < shape_.rows.output; ++i) {
          begin_rows(m, channels, sums);
          add_rows(planes, i, weights_.data() + (group * blocks_ + index) * depth_, sums);
          for (std::int64_t lane = 0; lane < channels; ++lane) {
            requantization_.store(sums + lane * width, m + lane, width, y + (m + lane) * shape_.y_plane + i * width);
          }
        }
      }
    }
  }

 private:
  using BlockWeights = std::array<std::int32_t, kChannelBlock>;

  // Rows of channels that the group does not have are computed too, and not stored.
  void begin_rows(std::int64_t m, std::int64_t channels, Sum* sums) const {
    const std::int64_t width = shape_.columns.output;
    for (std::int64_t lane = 0; lane < kChannelBlock; ++lane) {
      const Sum bias = lane < channels ? static_cast<Sum>(c_.bias[static_cast<std::size_t>(m + lane)]) : 0;
      std::fill(sums + lane * width, sums + (lane + 1) * width, bias);
    }
  }

  void add_rows(const std::uint8_t* planes, std::int64_t i, const BlockWeights* weights, Sum* sums) const {
    for (std::int64_t channel = 0; channel < c_.group_inputs(); ++channel, planes += shape_.x_plane) {
      for (std::int64_t tap_row = 0; tap_row < shape_.rows.kernel; ++tap_row, weights += shape_.columns.kernel) {
        const std::int64_t row = shape_.rows.first(i) + tap_row * shape_.rows.dilation;
        if (row < 0 || row >= shape_.rows.input) continue;
        const std::uint8_t* values = planes + row * shape_.columns.input;
        for (std::size_t tap = 0; tap < reaches_.size(); ++tap) add_stretch(values, reaches_[tap], weights[tap], sums);
      }
    }
  }

  // Each value is read once for all channels of the block.
  void add_stretch(const std::uint8_t* row, const Reach& reach, const BlockWeights& weights, Sum* sums) const {
    const std::int64_t width = shape_.columns.output;
    for (std::int64_t j = reach.begin; j < reach.end; ++j) {
      const std::int32_t value = row[j * shape_.columns.stride + reach.offset] - c_.x_zero_point;
      for (std::size_t lane = 0; lane < kChannelBlock; ++lane) {
        sums[static_cast<std::int64_t>(lane) * width + j] += product(value, weights[lane]);
      }
    }
  }

  const qc::Convolution& c_;
  const Shape& shape_;
  const Requantization& requantization_;
  std::int64_t depth_;   // values of a window of a group
  std::int64_t blocks_;  // how many blocks each group has
  std::vector<BlockWeights> weights_;
  std::vector<Reach> reaches_;  // the reach of each tap of a row
};

// ---- Depthwise convolutions ----

// Values and weights with their zero points taken off: a tap in the padding is left out.
class DepthwiseConvolution {
 public:
  DepthwiseConvolution(const qc::Convolution& c, const Shape& shape, const Requantization& requantization)
      : c_(c), shape_(shape), requantization_(requantization) {
    const auto* w = static_cast<const std::uint8_t*>(c.w);
    for (std::int64_t m = 0; m < c.output_channels; ++m) {
      for (std::int64_t tap = 0; tap < c.taps(); ++tap) {
        weights_.push_back(*w++ - c.w_zero_point[static_cast<std::size_t>(m)]);
      }
    }
    for (std::int64_t tap = 0; tap < shape.columns.kernel; ++tap) reaches_.emplace_back(shape.columns, tap);
  }

  // Bytes of scratch memory for a row of sums.
  std::size_t row_bytes() const { return static_cast<std::size_t>(shape_.columns.output) * sizeof(Sum); }

  void of_any_kernel(const std::uint8_t* x, Sum* sums, std::uint8_t* y) const {
    for_each_row(x, y, [&](const std::uint8_t* plane, std::int64_t m, std::int64_t i, std::uint8_t* row) {
      add_row(plane, m, i, sums);
      requantization_.store(sums, m, shape_.columns.output, row);
    });
  }

  // Rows of the output whose windows reach above or below x are computed as for any kernel. In the others, so are the
  // columns at both ends.
  void of_3x3(const std::uint8_t* x, Sum* sums, std::uint8_t* y) const {
    const std::int64_t begin = std::min(reaches_.front().begin, shape_.columns.output);
    const std::int64_t end = std::max(begin, reaches_.back().end);
    for_each_row(x, y, [&](const std::uint8_t* plane, std::int64_t m, std::int64_t i, std::uint8_t* row) {
      const std::int64_t first = shape_.rows.first(i);
      if (first < 0 || first + 3 > shape_.rows.input) {
        add_row(plane, m, i, sums);
      } else {
        add_interior(plane + first * shape_.columns.input - shape_.columns.pad_begin, m, begin, end, sums);
        for (std::int64_t j = 0; j < begin; ++j) sums[j] = sum_at(plane, m, i, j);
        for (std::int64_t j = end; j < shape_.columns.output; ++j) sums[j] = sum_at(plane, m, i, j);
      }
      requantization_.store(sums, m, shape_.columns.output, row);
    });
  }

 private:
  // Calls work(plane of x, output channel, output row, row of y).
  template <typename Work>
  void for_each_row(const std::uint8_t* x, std::uint8_t* y, Work work) const {
    for (std::int64_t m = 0; m < c_.output_channels; ++m) {
      const std::uint8_t* plane = x + m / c_.group_outputs() * shape_.x_plane;
      for (std::int64_t i = 0; i < shape_.rows.output; ++i, y += shape_.columns.output) work(plane, m, i, y);
    }
  }

  Sum bias(std::int64_t m) const { return static_cast<Sum>(c_.bias[static_cast<std::size_t>(m)]); }
  const std::int32_t* weights(std::int64_t m) const { return weights_.data() + m * c_.taps(); }

  // A row of sums, tap by tap: each reaches a stretch of the row.
  void add_row(const std::uint8_t* plane, std::int64_t m, std::int64_t i, Sum* sums) const {
    std::fill(sums, sums + shape_.columns.output, bias(m));
    const std::int32_t* weight = weights(m);
    for (std::int64_t tap_row = 0; tap_row < shape_.rows.kernel; ++tap_row) {
      const std::int64_t row = shape_.rows.first(i) + tap_row * shape_.rows.dilation;
      if (row < 0 || row >= shape_.rows.input) {
        weight += shape_.columns.kernel;
        continue;
      }
      for (const Reach& reach : reaches_) add_stretch(plane + row * shape_.columns.input, reach, *weight++, sums);
    }
  }

  void add_stretch(const std::uint8_t* row, const Reach& reach, std::int32_t weight, Sum* sums) const {
    const std::int64_t stride = shape_.columns.stride;
    if (stride == 1) {
      const std::uint8_t* values = row + reach.offset;
      for (std::int64_t j = reach.begin; j < reach.end; ++j) sums[j] += product(values[j] - c_.x_zero_point, weight);
      return;
    }
    for (std::int64_t j = reach.begin; j < reach.end; ++j) {
      sums[j] += product(row[j * stride + reach.offset] - c_.x_zero_point, weight);
    }
  }

  // Sums [begin, end) of a row whose windows lie inside x; `x` is where the window of output 0 begins.
  void add_interior(const std::uint8_t* x, std::int64_t m, std::int64_t begin, std::int64_t end, Sum* sums) const {
    const std::int32_t* w = weights(m);
    const std::int64_t width = shape_.columns.input;
    const Sum initial = bias(m) - static_cast<Sum>(c_.x_zero_point) * weight_sum(w);
    for (std::int64_t j = begin; j < end; ++j) {
      const std::uint8_t* top = x + j;
      const std::uint8_t* middle = top + width;
      const std::uint8_t* bottom = middle + width;
      sums[j] = initial + product(top[0], w[0]) + product(top[1], w[1]) + product(top[2], w[2]) +
                product(middle[0], w[3]) + product(middle[1], w[4]) + product(middle[2], w[5]) +
                product(bottom[0], w[6]) + product(bottom[1], w[7]) + product(bottom[2], w[8]);
    }
  }

  static Sum weight_sum(const std::int32_t* weights) {
    Sum sum = 0;
    for (int tap = 0; tap < 9; ++tap) sum += static_cast<Sum>(weights[tap]);
    return sum;
  }

  // One sum, of a window that may reach beyond x on either side.
  Sum sum_at(const std::uint8_t* plane, std::int64_t m, std::int64_t i, std::int64_t j) const {
    Sum sum = bias(m);
    const std::int32_t* weight = weights(m);
    for (std::int64_t tap_row = 0; tap_row < 3; ++tap_row) {
      const std::uint8_t* row = plane + (shape_.rows.first(i) + tap_row) * shape_.columns.input;
      for (std::int64_t tap = 0; tap < 3; ++tap, ++weight) {
        const std::int64_t column = shape_.columns.first(j) + tap;
        if (column < 0 || column >= shape_.columns.input) continue;
        sum += product(row[column] - c_.x_zero_point, *weight);
      }
    }
    return sum;
  }

  const qc::Convolution& c_;
  const Shape& shape_;
  const Requantization& requantization_;
  std::vector<std::int32_t> weights_;  // by output channel and tap, without their zero points
  std::vector<Reach> reaches_;         // the reach of each tap of a row
};

// ---- The kernel ----

class Uint8Float {
 public:
  static constexpr const char* name = "uint8-float";
  static constexpr const char* version = "1.0";
  static constexpr std::uint64_t capabilities = 0;

  static void check(const qc::Convolution& c) {
    qc::only(c.is_quantized, "operator", "only QLinearConv");
    qc::only(c.x_type == QC_UINT8, "x", "only uint8");
    qc::only(c.w_type == QC_UINT8, "w", "only uint8");
    qc::only(c.axes.size() <= 2, "x", "only one or two spatial dimensions");
  }

  explicit Uint8Float(const qc::Convolution& c) : c_(c), shape_(c), path_(path_of(c, shape_)), requantization_(c) {
    if (path_ == Path::depthwise_3x3 || path_ == Path::depthwise) {
      depthwise_ = std::make_unique<DepthwiseConvolution>(c, shape_, requantization_);
    } else if (path_ == Path::stem) {
      stem_ = std::make_unique<StemConvolution>(c, shape_, requantization_);
    } else {
      matrix_ = std::make_unique<MatrixConvolution>(c, shape_, requantization_);
    }
  }

  std::size_t scratch_bytes() const {
    if (depthwise_ != nullptr) return depthwise_->row_bytes();
    if (stem_ != nullptr) return stem_->row_bytes();
    return path_ == Path::gathered ? matrix_->strip_bytes() : 0;
  }

  void run(const qc::Run& run) const {
    const auto* x = static_cast<const std::uint8_t*>(run.x);
    auto* y = static_cast<std::uint8_t*>(run.y);
    for (std::int64_t n = 0; n < c_.batch; ++n, x += shape_.x_image, y += shape_.y_image) run_image(x, run.scratch, y);
  }

 private:
  void run_image(const std::uint8_t* x, void* scratch, std::uint8_t* y) const {
    switch (path_) {
      case Path::fully_connected: return matrix_->fully_connected(x, y);
      case Path::pointwise: return matrix_->pointwise(x, y);
      case Path::stem: return stem_->run(x, static_cast<Sum*>(scratch), y);
      case Path::gathered: return matrix_->gathered(x, static_cast<std::uint8_t*>(scratch), y);
      case Path::depthwise_3x3: return depthwise_->of_3x3(x, static_cast<Sum*>(scratch), y);
      case Path::depthwise: return depthwise_->of_any_kernel(x, static_cast<Sum*>(scratch), y);
    }
  }

  const qc::Convolution& c_;
  Shape shape_;
  Path path_;
  Requantization requantization_;
  std::unique_ptr<MatrixConvolution> matrix_;
  std::unique_ptr<DepthwiseConvolution> depthwise_;
  std::unique_ptr<StemConvolution> stem_;
};

}  // namespace

QC_EXPORT_KERNEL(Uint8Float)
