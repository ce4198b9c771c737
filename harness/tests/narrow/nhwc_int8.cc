// A narrow kernel in the style of libraries for microcontrollers and phones: QLinearConv of int8 in two dimensions,
// channels last, weights without a zero point, requantization in fixed point. It computes along one of six paths, by
// shape:
//
//   pointwise           1x1, stride 1, no padding: x is the matrix that the weights are multiplied with
//   strided pointwise   1x1 otherwise: rows of that matrix lie apart, or in the padding
//   fully connected     the window is all of x: one row for each image
//   depthwise 3x3       one channel in and out for each group, dilation 1
//   depthwise           one channel in for each group, and any number out
//   gathered            anything else: windows are copied into rows (im2col), strip by strip
//
// Sums hold sum(x * w) from the raw bytes. What the zero point of x adds, -x_zero_point * sum(w), is hoisted into the
// value that each sum begins with, beside the bias; so a tap in the padding has to read the zero point.
#include <qconform/node.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

// Wraps around as a register of 32 bits does.
using Sum = std::uint32_t;

constexpr std::int64_t kChannelBlock = 8;     // output channels that the matrix product computes at once
constexpr std::int64_t kPixelBlock = 4;       // pixels likewise
constexpr std::int64_t kDepthStep = 4;        // products that one step of the matrix product adds to each sum
constexpr std::int64_t kStrip = 32;           // windows that are gathered before they are multiplied
constexpr std::int64_t kDepthwiseBlock = 16;  // channels that a depthwise convolution computes at once

constexpr std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

Sum product(std::int32_t a, std::int32_t b) {
  return static_cast<Sum>(a * b);
}

// ---- Requantization in fixed point ----

// A positive real number: q31 * 2^(shift - 31), with q31 in [2^30, 2^31).
struct Multiplier {
  std::int32_t q31;
  int shift;
};

Multiplier multiplier_of(double real) {
  int exponent = 0;
  const double fraction = std::frexp(real, &exponent);
  std::int64_t q31 = std::llround(std::ldexp(fraction, 31));
  if (q31 == std::int64_t{1} << 31) {
    q31 /= 2;
    ++exponent;
  }
  // Times less than 2^-32, every sum rounds to 0.
  if (exponent < -31) return {0, 0};
  return {static_cast<std::int32_t>(q31), exponent};
}

// The high half of 2 * a * b, rounded to nearest, ties away from zero. b is not negative.
std::int32_t doubling_high_product(std::int32_t a, std::int32_t b) {
  const std::int64_t wide = std::int64_t{a} * b;
  const std::int64_t nudge = wide >= 0 ? std::int64_t{1} << 30 : 1 - (std::int64_t{1} << 30);
  return static_cast<std::int32_t>((wide + nudge) / (std::int64_t{1} << 31));
}

// value / 2^exponent, rounded to nearest, ties away from zero.
std::int64_t rounding_shift(std::int64_t value, int exponent) {
  const std::int64_t mask = (std::int64_t{1} << exponent) - 1;
  const std::int64_t remainder = value & mask;
  const std::int64_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
  return (value >> exponent) + (remainder > threshold ? 1 : 0);
}

// A sum times a multiplier. Below 1 it rounds twice, as the instructions for that do; from 1 on the product is shifted
// once, since the sum shifted first would not fit 32 bits.
std::int64_t scaled(std::int32_t sum, const Multiplier& multiplier) {
  if (multiplier.shift <= 0) return rounding_shift(doubling_high_product(sum, multiplier.q31), -multiplier.shift);
  if (multiplier.shift > 30) return sum == 0 ? 0 : sum > 0 ? INT32_MAX : INT32_MIN;
  return rounding_shift(std::int64_t{sum} * multiplier.q31, 31 - multiplier.shift);
}

class Requantization {
 public:
  explicit Requantization(const qc::Convolution& c) : zero_point_(c.y_zero_point) {
    for (std::int64_t m = 0; m < c.output_channels; ++m) multipliers_.push_back(multiplier_of(c.multiplier(m)));
  }

  // Output channels from `m` on, `count` of them.
  void store(const Sum* sums, std::int64_t m, std::int64_t count, std::int8_t* y) const {
    for (std::int64_t j = 0; j < count; ++j) {
      const Multiplier& multiplier = multipliers_[static_cast<std::size_t>(m + j)];
      const std::int64_t value = scaled(static_cast<std::int32_t>(sums[j]), multiplier) + zero_point_;
      y[j] = static_cast<std::int8_t>(std::clamp<std::int64_t>(value, INT8_MIN, INT8_MAX));
    }
  }

 private:
  std::int32_t zero_point_;
  std::vector<Multiplier> multipliers_;
};

// ---- The matrix product ----

// The weights of all groups, for rows of `depth` values: in blocks of kChannelBlock output channels, in steps of
// kDepthStep values, so that a step reads what it needs in one stretch. What is missing in the last block and step is
// 0.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  explicit PackedMatrix(const qc::Convolution& c)
      : depth_(c.taps() * c.group_inputs()),
        group_outputs_(c.group_outputs()),
        blocks_((group_outputs_ + kChannelBlock - 1) / kChannelBlock),
        block_bytes_(rounded_up(depth_, kDepthStep) * kChannelBlock) {
    weights_.assign(static_cast<std::size_t>(c.groups * blocks_ * block_bytes_), 0);
    initial_.assign(static_cast<std::size_t>(c.groups * blocks_ * kChannelBlock), 0);
    for (std::int64_t m = 0; m < c.output_channels; ++m) pack_channel(c, m);
  }

  std::int64_t depth() const { return depth_; }
  std::int64_t blocks() const { return blocks_; }
  // Output channels of block `block` of a group: fewer in the last one.
  std::int64_t channels_in(std::int64_t block) const {
    return std::min(kChannelBlock, group_outputs_ - block * kChannelBlock);
  }
  const std::int8_t* weights(std::int64_t group, std::int64_t block) const {
    return weights_.data() + (group * blocks_ + block) * block_bytes_;
  }
  const Sum* initial(std::int64_t group, std::int64_t block) const {
    return initial_.data() + (group * blocks_ + block) * kChannelBlock;
  }

 private:
  void pack_channel(const qc::Convolution& c, std::int64_t m) {
    const std::int64_t group = m / group_outputs_;
    const std::int64_t block = m % group_outputs_ / kChannelBlock;
    const std::int64_t lane = m % group_outputs_ % kChannelBlock;
    const auto* from = static_cast<const std::int8_t*>(c.w) + m * depth_;
    std::int8_t* to = weights_.data() + (group * blocks_ + block) * block_bytes_ + lane * kDepthStep;
    Sum weight_sum = 0;
    for (std::int64_t k = 0; k < depth_; ++k) {
      to[k / kDepthStep * kChannelBlock * kDepthStep + k % kDepthStep] = from[k];
      weight_sum += static_cast<Sum>(std::int32_t{from[k]});
    }
    initial_[static_cast<std::size_t>((group * blocks_ + block) * kChannelBlock + lane)] =
        static_cast<Sum>(c.bias[static_cast<std::size_t>(m)]) - static_cast<Sum>(c.x_zero_point) * weight_sum;
  }

  std::int64_t depth_ = 0;
  std::int64_t group_outputs_ = 1;
  std::int64_t blocks_ = 0;
  std::int64_t block_bytes_ = 0;
  std::vector<std::int8_t> weights_;
  std::vector<Sum> initial_;
};

// Adds the products of four values of each of `kRows` rows with the weights of a step.
template <std::int64_t kRows>
void add_step(const std::array<const std::int8_t*, kRows>& values, const std::int8_t* weights,
              std::array<std::array<Sum, kChannelBlock>, kRows>& sums) {
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int8_t* x = values[static_cast<std::size_t>(row)];
    for (std::int64_t lane = 0; lane < kChannelBlock; ++lane) {
      const std::int8_t* w = weights + lane * kDepthStep;
      sums[static_cast<std::size_t>(row)][static_cast<std::size_t>(lane)] +=
          product(x[0], w[0]) + product(x[1], w[1]) + product(x[2], w[2]) + product(x[3], w[3]);
    }
  }
}

// The sums of `kRows` rows and a block of channels. No byte behind a row is read: its last values are copied to where
// zeros follow.
template <std::int64_t kRows>
void multiply(const std::int8_t* const* rows, std::int64_t depth, const std::int8_t* weights, const Sum* initial,
              std::array<std::array<Sum, kChannelBlock>, kRows>& sums) {
  for (auto& row : sums) std::copy(initial, initial + kChannelBlock, row.begin());
  std::array<const std::int8_t*, kRows> values;
  std::copy(rows, rows + kRows, values.begin());
  std::int64_t k = 0;
  for (; k + kDepthStep <= depth; k += kDepthStep, weights += kDepthStep * kChannelBlock) {
    add_step<kRows>(values, weights, sums);
    for (const std::int8_t*& row : values) row += kDepthStep;
  }
  if (k == depth) return;
  std::array<std::array<std::int8_t, kDepthStep>, kRows> last{};
  for (std::size_t row = 0; row < last.size(); ++row) {
    std::copy(values[row], values[row] + (depth - k), last[row].begin());
    values[row] = last[row].data();
  }
  add_step<kRows>(values, weights, sums);
}

// ---- Shapes ----

// Sizes of one image. Elements of x, w and y lie [row][column][channel].
struct Shape {
  explicit Shape(const qc::Convolution& c)
      : rows(c.axes[0]),
        columns(c.axes[1]),
        channels(c.input_channels),
        x_row(columns.input * channels),
        x_image(rows.input * x_row),
        outputs(c.output_channels),
        y_row(columns.output * outputs) {}

  bool is_unpadded() const {
    return rows.pad_begin == 0 && rows.pad_end == 0 && columns.pad_begin == 0 && columns.pad_end == 0;
  }

  qc::Axis rows;
  qc::Axis columns;
  std::int64_t channels;
  std::int64_t x_row;
  std::int64_t x_image;
  std::int64_t outputs;
  std::int64_t y_row;
};

// Taps [begin, end) of an axis that lie inside x, for a window that begins at `first`.
struct Taps {
  Taps(const qc::Axis& axis, std::int64_t first)
      : begin(first >= 0 ? 0 : (-first + axis.dilation - 1) / axis.dilation),
        end(first >= axis.input ? 0 : std::min(axis.kernel, (axis.input - first - 1) / axis.dilation + 1)) {
    begin = std::min(begin, end);
  }
  std::int64_t begin;
  std::int64_t end;
};

// Output positions [begin, end) of an axis whose windows lie inside x.
struct Interior {
  explicit Interior(const qc::Axis& axis) {
    const std::int64_t last_first = axis.input - axis.kernel_extent();
    begin = std::min(axis.output, (axis.pad_begin + axis.stride - 1) / axis.stride);
    end = last_first + axis.pad_begin < 0 ? 0 : std::min(axis.output, (last_first + axis.pad_begin) / axis.stride + 1);
    end = std::max(begin, end);
  }
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

enum class Path { pointwise, strided_pointwise, fully_connected, depthwise_3x3, depthwise, gathered };

Path path_of(const qc::Convolution& c, const Shape& shape) {
  const qc::Axis& rows = shape.rows;
  const qc::Axis& columns = shape.columns;
  if (c.is_depthwise()) {
    const bool is_3x3 = rows.kernel == 3 && columns.kernel == 3 && rows.dilation == 1 && columns.dilation == 1;
    return is_3x3 && c.group_outputs() == 1 ? Path::depthwise_3x3 : Path::depthwise;
  }
  if (c.is_pointwise()) {
    const bool is_dense = rows.stride == 1 && columns.stride == 1 && shape.is_unpadded();
    return is_dense ? Path::pointwise : Path::strided_pointwise;
  }
  const bool is_all_of_x = rows.kernel == rows.input && columns.kernel == columns.input && rows.dilation == 1 &&
                           columns.dilation == 1 && shape.is_unpadded();
  return is_all_of_x && c.groups == 1 ? Path::fully_connected : Path::gathered;
}

// ---- Convolutions as matrix products ----

class MatrixConvolution {
 public:
  MatrixConvolution(const qc::Convolution& c, const Shape& shape, const Requantization& requantization)
      : c_(c), shape_(shape), requantization_(requantization), matrix_(c) {
    const std::int64_t row_values = std::max(matrix_.depth(), shape.x_row);
    padding_.assign(static_cast<std::size_t>(row_values), static_cast<std::int8_t>(c.x_zero_point));
  }

  // Bytes of scratch memory for gathered().
  std::size_t strip_bytes() const { return static_cast<std::size_t>(kStrip * matrix_.depth()); }

  // The pixels of all images follow each other, in x as in y.
  void pointwise(const std::int8_t* x, std::int8_t* y) const {
    const std::int64_t pixels = c_.batch * c_.input_pixels();
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      const std::int8_t* values = x + group * matrix_.depth();
      for_each_strip(pixels, [&](std::int64_t first, std::int64_t count) {
        Rows rows;
        for (std::int64_t i = 0; i < count; ++i)
          rows[static_cast<std::size_t>(i)] = values + (first + i) * shape_.channels;
        multiply_rows(rows, count, group, y + first * shape_.outputs);
      });
    }
  }

  void strided_pointwise(const std::int8_t* x, std::int8_t* y) const {
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      for_each_strip(c_.output_pixels(), [&](std::int64_t first, std::int64_t count) {
        Rows rows;
        for (std::int64_t i = 0; i < count; ++i) rows[static_cast<std::size_t>(i)] = pixel_at(x, first + i, group);
        multiply_rows(rows, count, group, y + first * shape_.outputs);
      });
    }
  }

  // One row for each image.
  void fully_connected(const std::int8_t* x, std::int8_t* y) const {
    for_each_strip(c_.batch, [&](std::int64_t first, std::int64_t count) {
      Rows rows;
      for (std::int64_t i = 0; i < count; ++i) rows[static_cast<std::size_t>(i)] = x + (first + i) * shape_.x_image;
      multiply_rows(rows, count, 0, y + first * shape_.outputs);
    });
  }

  void gathered(const std::int8_t* x, std::int8_t* strip, std::int8_t* y) const {
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      for_each_strip(c_.output_pixels(), [&](std::int64_t first, std::int64_t count) {
        Rows rows;
        for (std::int64_t i = 0; i < count; ++i) {
          std::int8_t* window = strip + i * matrix_.depth();
          gather(x, first + i, group, window);
          rows[static_cast<std::size_t>(i)] = window;
        }
        multiply_rows(rows, count, group, y + first * shape_.outputs);
      });
    }
  }

 private:
  using Rows = std::array<const std::int8_t*, kStrip>;

  template <typename Work>
  static void for_each_strip(std::int64_t count, Work work) {
    for (std::int64_t first = 0; first < count; first += kStrip) work(first, std::min(kStrip, count - first));
  }

  // Rows times the weights of a group, to pixels from `y` on. The weights of a block stay in the cache for the strip.
  void multiply_rows(const Rows& rows, std::int64_t count, std::int64_t group, std::int8_t* y) const {
    for (std::int64_t block = 0; block < matrix_.blocks(); ++block) {
      std::int64_t i = 0;
      for (; i + kPixelBlock <= count; i += kPixelBlock)
        multiply_block<kPixelBlock>(&rows[static_cast<std::size_t>(i)], group, block, y + i * shape_.outputs);
      switch (count - i) {
        case 3: multiply_block<3>(&rows[static_cast<std::size_t>(i)], group, block, y + i * shape_.outputs); break;
        case 2: multiply_block<2>(&rows[static_cast<std::size_t>(i)], group, block, y + i * shape_.outputs); break;
        case 1: multiply_block<1>(&rows[static_cast<std::size_t>(i)], group, block, y + i * shape_.outputs); break;
        default: break;
      }
    }
  }

  template <std::int64_t kRows>
  void multiply_block(const std::int8_t* const* rows, std::int64_t group, std::int64_t block, std::int8_t* y) const {
    std::array<std::array<Sum, kChannelBlock>, kRows> sums;
    multiply<kRows>(rows, matrix_.depth(), matrix_.weights(group, block), matrix_.initial(group, block), sums);
    const std::int64_t m = group * c_.group_outputs() + block * kChannelBlock;
    for (const auto& row : sums) {
      requantization_.store(row.data(), m, matrix_.channels_in(block), y + m);
      y += shape_.outputs;
    }
  }

  // The input pixel of an output pixel of a 1x1 convolution.
  const std::int8_t* pixel_at(const std::int8_t* x, std::int64_t pixel, std::int64_t group) const {
    const std::int64_t row = shape_.rows.first(pixel / shape_.columns.output);
    const std::int64_t column = shape_.columns.first(pixel % shape_.columns.output);
    const bool is_inside = row >= 0 && row < shape_.rows.input && column >= 0 && column < shape_.columns.input;
    if (!is_inside) return padding_.data();
    return x + row * shape_.x_row + column * shape_.channels + group * c_.group_inputs();
  }

  // Copies the window of an output pixel: [kernel row][kernel column][channel of the group].
  void gather(const std::int8_t* x, std::int64_t pixel, std::int64_t group, std::int8_t* window) const {
    const qc::Axis& rows = shape_.rows;
    const std::int64_t first_row = rows.first(pixel / shape_.columns.output);
    const std::int64_t first_column = shape_.columns.first(pixel % shape_.columns.output);
    const std::int64_t window_row = shape_.columns.kernel * c_.group_inputs();
    for (std::int64_t i = 0; i < rows.kernel; ++i, window += window_row) {
      const std::int64_t row = first_row + i * rows.dilation;
      if (row < 0 || row >= rows.input) {
        fill_with_zero_point(window, window_row);
      } else {
        gather_row(x + row * shape_.x_row + group * c_.group_inputs(), first_column, window);
      }
    }
  }

  void gather_row(const std::int8_t* x, std::int64_t first_column, std::int8_t* window) const {
    const qc::Axis& columns = shape_.columns;
    const std::int64_t width = c_.group_inputs();
    const Taps taps(columns, first_column);
    fill_with_zero_point(window, taps.begin * width);
    fill_with_zero_point(window + taps.end * width, (columns.kernel - taps.end) * width);
    const std::int8_t* from = x + (first_column + taps.begin * columns.dilation) * shape_.channels;
    std::int8_t* to = window + taps.begin * width;
    // Neighbouring pixels with all their channels lie in one stretch.
    if (c_.groups == 1 && columns.dilation == 1) {
      copy(from, (taps.end - taps.begin) * width, to);
      return;
    }
    for (std::int64_t j = taps.begin; j < taps.end; ++j) {
      copy(from, width, to);
      from += columns.dilation * shape_.channels;
      to += width;
    }
  }

  static void copy(const std::int8_t* from, std::int64_t count, std::int8_t* to) {
    if (count > 0) std::memcpy(to, from, static_cast<std::size_t>(count));
  }
  void fill_with_zero_point(std::int8_t* to, std::int64_t count) const { copy(padding_.data(), count, to); }

  const qc::Convolution& c_;
  const Shape& shape_;
  const Requantization& requantization_;
  PackedMatrix matrix_;
  std::vector<std::int8_t> padding_;  // zero points, as many as a row or a window has values
};

// ---- Depthwise convolutions ----

// Weights by tap, [kernel row][kernel column][output channel]: what the channels of a pixel are multiplied with lies in
// one stretch.
class DepthwiseConvolution {
 public:
  DepthwiseConvolution(const qc::Convolution& c, const Shape& shape, const Requantization& requantization)
      : c_(c),
        shape_(shape),
        requantization_(requantization),
        multiplier_(c.group_outputs()),
        interior_(shape.columns) {
    const auto* w = static_cast<const std::int8_t*>(c.w);
    weights_.resize(static_cast<std::size_t>(c.taps() * c.output_channels));
    for (std::int64_t m = 0; m < c.output_channels; ++m) {
      Sum weight_sum = 0;
      for (std::int64_t tap = 0; tap < c.taps(); ++tap) {
        const std::int8_t weight = w[m * c.taps() + tap];
        weights_[static_cast<std::size_t>(tap * c.output_channels + m)] = weight;
        weight_sum += static_cast<Sum>(std::int32_t{weight});
      }
      const auto bias = static_cast<Sum>(c.bias[static_cast<std::size_t>(m)]);
      bias_.push_back(bias);
      whole_window_.push_back(bias - static_cast<Sum>(c.x_zero_point) * weight_sum);
    }
    padding_row_.assign(static_cast<std::size_t>(shape.x_row), static_cast<std::int8_t>(c.x_zero_point));
  }

  // Rows above and below x are rows of zero points. Columns whose windows reach beyond x are computed tap by tap.
  void of_3x3(const std::int8_t* x, std::int8_t* y) const {
    for (std::int64_t i = 0; i < shape_.rows.output; ++i, y += shape_.y_row) {
      const std::int64_t first_row = shape_.rows.first(i);
      const std::array<const std::int8_t*, 3> rows{row_at(x, first_row), row_at(x, first_row + 1),
                                                   row_at(x, first_row + 2)};
      std::int64_t j = 0;
      for (; j < interior_.begin; ++j) tap_by_tap(x, i, j, y + j * shape_.outputs);
      for (; j < interior_.end; ++j) whole_3x3(rows, shape_.columns.first(j) * shape_.channels, y + j * shape_.outputs);
      for (; j < shape_.columns.output; ++j) tap_by_tap(x, i, j, y + j * shape_.outputs);
    }
  }

  void of_any_kernel(const std::int8_t* x, std::int8_t* y) const {
    for (std::int64_t i = 0; i < shape_.rows.output; ++i) {
      for (std::int64_t j = 0; j < shape_.columns.output; ++j, y += shape_.outputs) tap_by_tap(x, i, j, y);
    }
  }

 private:
  const std::int8_t* row_at(const std::int8_t* x, std::int64_t row) const {
    return row < 0 || row >= shape_.rows.input ? padding_row_.data() : x + row * shape_.x_row;
  }

  // A window inside the columns of x; `offset`: of its first pixel in each row.
  void whole_3x3(const std::array<const std::int8_t*, 3>& rows, std::int64_t offset, std::int8_t* y) const {
    std::array<Sum, kDepthwiseBlock> sums;
    std::int64_t m = 0;
    for (; m + kDepthwiseBlock <= shape_.outputs; m += kDepthwiseBlock) {
      std::copy(whole_window_.data() + m, whole_window_.data() + m + kDepthwiseBlock, sums.begin());
      for (std::int64_t tap = 0; tap < 9; ++tap) {
        const std::int8_t* pixel = rows[static_cast<std::size_t>(tap / 3)] + offset + tap % 3 * shape_.channels + m;
        const std::int8_t* weight = weights_.data() + tap * shape_.outputs + m;
        for (std::int64_t lane = 0; lane < kDepthwiseBlock; ++lane)
          sums[static_cast<std::size_t>(lane)] += product(pixel[lane], weight[lane]);
      }
      requantization_.store(sums.data(), m, kDepthwiseBlock, y + m);
    }
    for (; m < shape_.outputs; ++m) {
      Sum sum = whole_window_[static_cast<std::size_t>(m)];
      for (std::int64_t tap = 0; tap < 9; ++tap) {
        const std::int8_t pixel = rows[static_cast<std::size_t>(tap / 3)][offset + tap % 3 * shape_.channels + m];
        sum += product(pixel, weights_[static_cast<std::size_t>(tap * shape_.outputs + m)]);
      }
      requantization_.store(&sum, m, 1, y + m);
    }
  }

  // Any window: the taps in the padding are left out, and the zero point is taken from each value.
  void tap_by_tap(const std::int8_t* x, std::int64_t i, std::int64_t j, std::int8_t* y) const {
    const std::int64_t first_row = shape_.rows.first(i);
    const std::int64_t first_column = shape_.columns.first(j);
    const Window window{x, first_row, first_column, Taps(shape_.rows, first_row), Taps(shape_.columns, first_column)};
    std::array<Sum, kDepthwiseBlock> sums;
    for (std::int64_t m = 0; m < shape_.outputs; m += kDepthwiseBlock) {
      const std::int64_t count = std::min(kDepthwiseBlock, shape_.outputs - m);
      std::copy(bias_.data() + m, bias_.data() + m + count, sums.begin());
      if (multiplier_ == 1) {
        add_window(window, m, count, sums.data());
      } else {
        add_shared_window(window, m, count, sums.data());
      }
      requantization_.store(sums.data(), m, count, y + m);
    }
  }

  struct Window {
    const std::int8_t* x;
    std::int64_t first_row;
    std::int64_t first_column;
    Taps rows;
    Taps columns;
  };

  // Calls visit(pixel, weights) for each tap inside x.
  template <typename Visit>
  void for_each_tap(const Window& window, Visit visit) const {
    for (std::int64_t i = window.rows.begin; i < window.rows.end; ++i) {
      const std::int8_t* row = window.x + (window.first_row + i * shape_.rows.dilation) * shape_.x_row;
      for (std::int64_t j = window.columns.begin; j < window.columns.end; ++j) {
        const std::int8_t* pixel = row + (window.first_column + j * shape_.columns.dilation) * shape_.channels;
        visit(pixel, weights_.data() + (i * shape_.columns.kernel + j) * shape_.outputs);
      }
    }
  }

  // Each output channel has its own input channel.
  void add_window(const Window& window, std::int64_t m, std::int64_t count, Sum* sums) const {
    for_each_tap(window, [&](const std::int8_t* pixel, const std::int8_t* weights) {
      for (std::int64_t lane = 0; lane < count; ++lane) {
        sums[lane] += product(pixel[m + lane] - c_.x_zero_point, weights[m + lane]);
      }
    });
  }

  // `multiplier_` output channels share one. A block may begin and end amid those of an input channel.
  void add_shared_window(const Window& window, std::int64_t m, std::int64_t count, Sum* sums) const {
    for_each_tap(window, [&](const std::int8_t* pixel, const std::int8_t* weights) {
      std::int64_t channel = m / multiplier_;
      std::int64_t left = multiplier_ - m % multiplier_;
      for (std::int64_t lane = 0; lane < count; ++lane) {
        sums[lane] += product(pixel[channel] - c_.x_zero_point, weights[m + lane]);
        if (--left == 0) {
          left = multiplier_;
          ++channel;
        }
      }
    });
  }

  const qc::Convolution& c_;
  const Shape& shape_;
  const Requantization& requantization_;
  std::int64_t multiplier_;  // output channels of each input channel
  Interior interior_;        // output columns whose windows lie inside x
  std::vector<std::int8_t> weights_;
  std::vector<Sum> bias_;
  std::vector<Sum> whole_window_;  // initial sums of windows without padding, by output channel
  std::vector<std::int8_t> padding_row_;
};

// ---- The kernel ----

class NhwcInt8 {
 public:
  static constexpr const char* name = "nhwc-int8";
  static constexpr const char* version = "1.0";
  static constexpr std::uint64_t capabilities = QC_NEEDS_CHANNELS_LAST;

  static void check(const qc::Convolution& c) {
    qc::only(c.is_quantized, "operator", "only QLinearConv");
    qc::only(c.x_type == QC_INT8, "x", "only int8");
    qc::only(c.w_type == QC_INT8, "w", "only int8");
    qc::only(c.y_type == QC_INT8, "y_zero_point", "only int8");
    qc::only(c.axes.size() == 2, "x", "only two spatial dimensions");
    for (const std::int32_t zero_point : c.w_zero_point) qc::only(zero_point == 0, "w_zero_point", "only 0");
  }

  explicit NhwcInt8(const qc::Convolution& c) : c_(c), shape_(c), path_(path_of(c, shape_)), requantization_(c) {
    if (path_ == Path::depthwise_3x3 || path_ == Path::depthwise) {
      depthwise_ = std::make_unique<DepthwiseConvolution>(c, shape_, requantization_);
    } else {
      matrix_ = std::make_unique<MatrixConvolution>(c, shape_, requantization_);
    }
  }

  std::size_t scratch_bytes() const { return path_ == Path::gathered ? matrix_->strip_bytes() : 0; }

  void run(const qc::Run& run) const {
    const auto* x = static_cast<const std::int8_t*>(run.x);
    auto* y = static_cast<std::int8_t*>(run.y);
    // These take all images at once.
    if (path_ == Path::pointwise) return matrix_->pointwise(x, y);
    if (path_ == Path::fully_connected) return matrix_->fully_connected(x, y);
    for (std::int64_t n = 0; n < c_.batch; ++n) {
      run_image(x, static_cast<std::int8_t*>(run.scratch), y);
      x += shape_.x_image;
      y += shape_.rows.output * shape_.y_row;
    }
  }

 private:
  void run_image(const std::int8_t* x, std::int8_t* scratch, std::int8_t* y) const {
    switch (path_) {
      case Path::strided_pointwise: return matrix_->strided_pointwise(x, y);
      case Path::gathered: return matrix_->gathered(x, scratch, y);
      case Path::depthwise_3x3: return depthwise_->of_3x3(x, y);
      default: return depthwise_->of_any_kernel(x, y);
    }
  }

  const qc::Convolution& c_;
  Shape shape_;
  Path path_;
  Requantization requantization_;
  std::unique_ptr<MatrixConvolution> matrix_;
  std::unique_ptr<DepthwiseConvolution> depthwise_;
};

}  // namespace

QC_EXPORT_KERNEL(NhwcInt8)
