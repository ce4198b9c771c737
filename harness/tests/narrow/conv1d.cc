// A narrow kernel in the style of libraries for speech: QLinearConv and ConvInteger of one dimension, x of int8 or
// uint8, w of int8 without a zero point, and y of the type of x or of int32. It computes along one of six paths, by
// shape:
//
//   depthwise     one channel in for each group: the interior of a row, its edges apart
//   pointwise     a kernel of 1 without padding
//   long kernel   16 taps or more in a row: dot products along the taps
//   strided       x is split into as many rows as the stride has steps, in which neighbouring outputs read neighbours
//   dilated       so it is by the dilation, and so are the outputs: each row is a convolution without dilation
//   dense         anything else
//
// Padded rows, which some paths read, hold x without its zero point, in 16 bits, and zeros in the padding: then no tap
// needs a check, and no sum a correction.
#include <qconform/node.hpp>

#include <array>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

// Wraps around as a register of 32 bits does.
using Sum = std::uint32_t;

constexpr std::int64_t kChannelBlock = 4;  // output channels that are computed at once
constexpr std::int64_t kOutputBlock = 16;  // neighbouring outputs likewise
constexpr std::int64_t kLongKernel = 16;   // taps from which on dot products along them pay
constexpr std::int64_t kDotStep = 8;       // products of a dot product that are summed side by side

Sum product(std::int32_t a, std::int32_t b) {
  return static_cast<Sum>(a * b);
}

// ---- What becomes of sums ----

// Writes sums to y: as they are, or scaled in float32, rounded to nearest even and clamped.
class Output {
 public:
  explicit Output(const qc::Convolution& c)
      : y_type_(c.y_type), length_(c.axes[0].output), zero_point_(c.y_zero_point) {
    if (y_type_ == QC_INT32) return;
    const int lowest = y_type_ == QC_INT8 ? -128 : 0;
    least_ = static_cast<float>(lowest - zero_point_);
    most_ = static_cast<float>(lowest + 255 - zero_point_);
    for (const float w_scale : c.w_scale) {
      const float multiplier = c.x_scale * w_scale / c.y_scale;
      // An infinite one would make NaN of a sum of 0.
      multipliers_.push_back(multiplier <= FLT_MAX ? multiplier : FLT_MAX);
    }
  }

  // `count` sums of channel `m`, whose rows of this image begin at `y`: outputs `first`, `first + step`, and so on.
  void store(const Sum* sums, std::int64_t m, std::int64_t first, std::int64_t step, std::int64_t count,
             void* y) const {
    const std::int64_t begin = m * length_ + first;
    if (y_type_ == QC_INT32) {
      auto* to = static_cast<std::int32_t*>(y) + begin;
      for (std::int64_t i = 0; i < count; ++i) to[i * step] = static_cast<std::int32_t>(sums[i]);
      return;
    }
    auto* to = static_cast<std::uint8_t*>(y) + begin;
    const float multiplier = multipliers_[static_cast<std::size_t>(m)];
    for (std::int64_t i = 0; i < count; ++i) to[i * step] = rounded(sums[i], multiplier);
  }

  // Bytes of an element of y.
  std::int64_t element_bytes() const { return y_type_ == QC_INT32 ? 4 : 1; }

 private:
  std::uint8_t rounded(Sum sum, float multiplier) const {
    const float value = static_cast<float>(static_cast<std::int32_t>(sum)) * multiplier;
    const float clamped = std::min(std::max(value, least_), most_);
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(std::nearbyint(clamped)) + zero_point_);
  }

  std::int32_t y_type_;
  std::int64_t length_;  // the length of a row of y
  std::int32_t zero_point_;
  float least_ = 0;  // the least value of y before the zero point is added
  float most_ = 0;
  std::vector<float> multipliers_;
};

// ---- Weights ----

using BlockWeights = std::array<std::int16_t, kChannelBlock>;

// The weights of kChannelBlock output channels of a group side by side, by input channel and tap; zeros where a group
// has no further channel.
class PackedWeights {
 public:
  explicit PackedWeights(const qc::Convolution& c)
      : depth_(c.group_inputs() * c.taps()),
        group_outputs_(c.group_outputs()),
        blocks_((group_outputs_ + kChannelBlock - 1) / kChannelBlock) {
    const auto* w = static_cast<const std::int8_t*>(c.w);
    weights_.assign(static_cast<std::size_t>(c.groups * blocks_ * depth_), {});
    initial_.assign(static_cast<std::size_t>(c.groups * blocks_), {});
    for (std::int64_t m = 0; m < c.output_channels; ++m) {
      const std::int64_t within = m % group_outputs_;
      const std::int64_t block = m / group_outputs_ * blocks_ + within / kChannelBlock;
      const auto lane = static_cast<std::size_t>(within % kChannelBlock);
      for (std::int64_t k = 0; k < depth_; ++k) weights_[static_cast<std::size_t>(block * depth_ + k)][lane] = *w++;
      initial_[static_cast<std::size_t>(block)][lane] = static_cast<Sum>(c.bias[static_cast<std::size_t>(m)]);
    }
  }

  std::int64_t blocks() const { return blocks_; }
  // Output channels of block `index` of a group: fewer in the last one.
  std::int64_t channels_in(std::int64_t index) const {
    return std::min(kChannelBlock, group_outputs_ - index * kChannelBlock);
  }
  // The first output channel of a block.
  std::int64_t first_channel(std::int64_t group, std::int64_t index) const {
    return group * group_outputs_ + index * kChannelBlock;
  }
  const BlockWeights* of(std::int64_t group, std::int64_t index) const {
    return weights_.data() + (group * blocks_ + index) * depth_;
  }
  // Values that the sums of a block begin with.
  const std::array<Sum, kChannelBlock>& initial(std::int64_t group, std::int64_t index) const {
    return initial_[static_cast<std::size_t>(group * blocks_ + index)];
  }

 private:
  std::int64_t depth_;
  std::int64_t group_outputs_;
  std::int64_t blocks_;
  std::vector<BlockWeights> weights_;
  std::vector<std::array<Sum, kChannelBlock>> initial_;
};

// The sums of a block of channels at neighbouring outputs.
using BlockSums = std::array<std::array<Sum, kOutputBlock>, kChannelBlock>;

void begin_block(const std::array<Sum, kChannelBlock>& initial, BlockSums& sums) {
  for (std::size_t lane = 0; lane < kChannelBlock; ++lane) sums[lane].fill(initial[lane]);
}

// Adds `count` neighbouring values times the weights of a block.
template <typename Value>
void add_values(const Value* values, std::int32_t zero_point, std::int64_t count, const BlockWeights& weights,
                BlockSums& sums) {
  for (std::size_t lane = 0; lane < kChannelBlock; ++lane) {
    const std::int32_t weight = weights[lane];
    for (std::int64_t p = 0; p < count; ++p) {
      sums[lane][static_cast<std::size_t>(p)] += product(values[p] - zero_point, weight);
    }
  }
}

// ---- Padded rows ----

// x without its zero point, between zeros.
class PaddedRows {
 public:
  explicit PaddedRows(const qc::Convolution& c)
      : axis_(c.axes[0]), zero_point_(c.x_zero_point), length_(axis_.pad_begin + axis_.input + axis_.pad_end) {}

  std::int64_t length() const { return length_; }

  template <typename Element>
  void fill(const Element* x, std::int16_t* row) const {
    std::fill(row, row + axis_.pad_begin, std::int16_t{0});
    row += axis_.pad_begin;
    for (std::int64_t i = 0; i < axis_.input; ++i) row[i] = static_cast<std::int16_t>(x[i] - zero_point_);
    std::fill(row + axis_.input, row + axis_.input + axis_.pad_end, std::int16_t{0});
  }

 private:
  qc::Axis axis_;
  std::int32_t zero_point_;
  std::int64_t length_;
};

// A padded row that is dealt out to `count` phases: value i goes to phase i % count, place i / count. The phases of a
// channel lie one behind the other; what the last places lack is 0.
class Phases {
 public:
  Phases(const PaddedRows& rows, std::int64_t count)
      : rows_(rows), count_(count), length_((rows.length() + count - 1) / count) {}

  std::int64_t length() const { return length_; }
  // Values of a channel, in all phases.
  std::int64_t channel_length() const { return count_ * length_; }
  // Place of value `i` of a padded row among those of its channel.
  std::int64_t place_of(std::int64_t i) const { return i % count_ * length_ + i / count_; }

  // `row` has room for a padded row.
  template <typename Element>
  void fill(const Element* x, std::int16_t* row, std::int16_t* phases) const {
    rows_.fill(x, row);
    std::fill(phases, phases + channel_length(), std::int16_t{0});
    for (std::int64_t phase = 0; phase < count_; ++phase, phases += length_) {
      for (std::int64_t i = phase, place = 0; i < rows_.length(); i += count_, ++place) phases[place] = row[i];
    }
  }

 private:
  PaddedRows rows_;
  std::int64_t count_;
  std::int64_t length_;  // the length of a phase
};

// ---- Dense convolutions ----

// Every path but the depthwise one. `Element`: of x.
template <typename Element>
class DenseConvolution {
 public:
  DenseConvolution(const qc::Convolution& c, const Output& output)
      : c_(c),
        axis_(c.axes[0]),
        output_(output),
        weights_(c),
        rows_(c),
        by_stride_(rows_, axis_.stride),
        by_dilation_(rows_, axis_.dilation) {
    for (std::int64_t tap = 0; tap < axis_.kernel; ++tap) {
      neighbours_.push_back(tap);
      strided_.push_back(by_stride_.place_of(tap * axis_.dilation));
    }
  }

  // Bytes of scratch memory: for the padded rows of a group, for one more, and for the rows dealt out to phases.
  std::size_t scratch_bytes() const {
    const std::int64_t longest = std::max({rows_.length(), by_stride_.channel_length(), by_dilation_.channel_length()});
    return static_cast<std::size_t>(c_.group_inputs() * longest + rows_.length()) * sizeof(std::int16_t);
  }

  void pointwise(const Element* x, void* y) const {
    std::array<Element, kOutputBlock> strided{};
    for_each_block([&](std::int64_t group, std::int64_t index) {
      for_each_stretch(axis_.output, [&](std::int64_t j, std::int64_t count) {
        BlockSums sums;
        begin_block(weights_.initial(group, index), sums);
        const Element* row = x + group * c_.group_inputs() * axis_.input + j * axis_.stride;
        for (std::int64_t channel = 0; channel < c_.group_inputs(); ++channel, row += axis_.input) {
          const Element* values = row;
          if (axis_.stride != 1) {
            for (std::int64_t p = 0; p < count; ++p) strided[static_cast<std::size_t>(p)] = row[p * axis_.stride];
            values = strided.data();
          }
          add_values(values, c_.x_zero_point, count, weights_.of(group, index)[channel], sums);
        }
        store(sums, group, index, j, 1, count, y);
      });
    });
  }

  // Neighbouring outputs read neighbouring values of a row.
  void dense(const Element* x, std::int16_t* scratch, void* y) const {
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      fill_rows(x, group, scratch);
      for (std::int64_t index = 0; index < weights_.blocks(); ++index) {
        compute_row(scratch, rows_.length(), neighbours_, group, index, {0, 1, axis_.output}, y);
      }
    }
  }

  // Output j reads value j * stride + t of a row with tap t: value j + t / stride of phase t % stride.
  void strided(const Element* x, std::int16_t* scratch, void* y) const {
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      fill_phases(by_stride_, x, group, scratch);
      for (std::int64_t index = 0; index < weights_.blocks(); ++index) {
        compute_row(scratch, by_stride_.channel_length(), strided_, group, index, {0, 1, axis_.output}, y);
      }
    }
  }

  // Outputs j, j + dilation, ... read phase j alone, neighbours with neighbouring taps.
  void dilated(const Element* x, std::int16_t* scratch, void* y) const {
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      fill_phases(by_dilation_, x, group, scratch);
      for (std::int64_t phase = 0; phase < std::min(axis_.dilation, axis_.output); ++phase) {
        const std::int64_t count = (axis_.output - phase + axis_.dilation - 1) / axis_.dilation;
        const std::int16_t* rows = scratch + phase * by_dilation_.length();
        for (std::int64_t index = 0; index < weights_.blocks(); ++index) {
          compute_row(rows, by_dilation_.channel_length(), neighbours_, group, index, {phase, axis_.dilation, count},
                      y);
        }
      }
    }
  }

  // Windows and weights lie in memory as long stretches: one dot product for each channel in and out.
  void long_kernel(const Element* x, std::int16_t* scratch, void* y) const {
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      fill_rows(x, group, scratch);
      for (std::int64_t within = 0; within < c_.group_outputs(); ++within) {
        const std::int64_t m = group * c_.group_outputs() + within;
        for (std::int64_t j = 0; j < axis_.output; ++j) {
          const Sum sum = long_window(scratch + j * axis_.stride, m);
          output_.store(&sum, m, j, 1, 1, y);
        }
      }
    }
  }

 private:
  // Outputs `first`, `first + step`, ..., `count` of them.
  struct Outputs {
    std::int64_t first;
    std::int64_t step;
    std::int64_t count;
  };

  template <typename Work>
  void for_each_block(Work work) const {
    for (std::int64_t group = 0; group < c_.groups; ++group) {
      for (std::int64_t index = 0; index < weights_.blocks(); ++index) work(group, index);
    }
  }
  template <typename Work>
  static void for_each_stretch(std::int64_t count, Work work) {
    for (std::int64_t j = 0; j < count; j += kOutputBlock) work(j, std::min(kOutputBlock, count - j));
  }

  const Element* row_of(const Element* x, std::int64_t group, std::int64_t channel) const {
    return x + (group * c_.group_inputs() + channel) * axis_.input;
  }

  void fill_rows(const Element* x, std::int64_t group, std::int16_t* rows) const {
    for (std::int64_t channel = 0; channel < c_.group_inputs(); ++channel) {
      rows_.fill(row_of(x, group, channel), rows + channel * rows_.length());
    }
  }
  void fill_phases(const Phases& phases, const Element* x, std::int64_t group, std::int16_t* rows) const {
    std::int16_t* row = rows + c_.group_inputs() * phases.channel_length();
    for (std::int64_t channel = 0; channel < c_.group_inputs(); ++channel) {
      phases.fill(row_of(x, group, channel), row, rows + channel * phases.channel_length());
    }
  }

  // A block of channels at some outputs. Output i of them reads value `offsets[tap] + i` of each channel's `row_length`
  // values.
  void compute_row(const std::int16_t* rows, std::int64_t row_length, const std::vector<std::int64_t>& offsets,
                   std::int64_t group, std::int64_t index, const Outputs& outputs, void* y) const {
    for_each_stretch(outputs.count, [&](std::int64_t i, std::int64_t count) {
      BlockSums sums;
      begin_block(weights_.initial(group, index), sums);
      const BlockWeights* weights = weights_.of(group, index);
      for (std::int64_t channel = 0; channel < c_.group_inputs(); ++channel) {
        const std::int16_t* row = rows + channel * row_length + i;
        for (const std::int64_t offset : offsets) add_values(row + offset, 0, count, *weights++, sums);
      }
      store(sums, group, index, outputs.first + i * outputs.step, outputs.step, count, y);
    });
  }

  void store(const BlockSums& sums, std::int64_t group, std::int64_t index, std::int64_t first, std::int64_t step,
             std::int64_t count, void* y) const {
    const std::int64_t m = weights_.first_channel(group, index);
    for (std::int64_t lane = 0; lane < weights_.channels_in(index); ++lane) {
      output_.store(sums[static_cast<std::size_t>(lane)].data(), m + lane, first, step, count, y);
    }
  }

  // The sum of channel `m` over a window; `rows` is where it begins in the first padded row.
  Sum long_window(const std::int16_t* rows, std::int64_t m) const {
    const auto* w = static_cast<const std::int8_t*>(c_.w) + m * c_.group_inputs() * axis_.kernel;
    Sum sum = static_cast<Sum>(c_.bias[static_cast<std::size_t>(m)]);
    for (std::int64_t channel = 0; channel < c_.group_inputs(); ++channel) {
      sum += dot(rows, w, axis_.kernel);
      rows += rows_.length();
      w += axis_.kernel;
    }
    return sum;
  }

  static Sum dot(const std::int16_t* values, const std::int8_t* weights, std::int64_t count) {
    std::array<Sum, kDotStep> lanes{};
    std::int64_t k = 0;
    for (; k + kDotStep <= count; k += kDotStep) {
      for (std::int64_t lane = 0; lane < kDotStep; ++lane) {
        lanes[static_cast<std::size_t>(lane)] += product(values[k + lane], weights[k + lane]);
      }
    }
    Sum sum = 0;
    for (const Sum lane : lanes) sum += lane;
    for (; k < count; ++k) sum += product(values[k], weights[k]);
    return sum;
  }

  const qc::Convolution& c_;
  const qc::Axis axis_;
  const Output& output_;
  PackedWeights weights_;
  PaddedRows rows_;
  Phases by_stride_;
  Phases by_dilation_;
  std::vector<std::int64_t> neighbours_;  // the offset of each tap, where windows have no gaps
  std::vector<std::int64_t> strided_;     // the place of each tap of window 0 among the phases of a channel
};

// ---- Depthwise convolutions ----

// On x as it is. Outputs whose windows reach beyond the row are computed with the taps inside alone. In the interior
// the zero point of x is hoisted: sum((x - zero point) * w) = sum(x * w) - zero point * sum(w).
template <typename Element>
class DepthwiseConvolution {
 public:
  DepthwiseConvolution(const qc::Convolution& c, const Output& output)
      : c_(c), axis_(c.axes[0]), output_(output), w_(static_cast<const std::int8_t*>(c.w)) {
    for (std::int64_t m = 0; m < c.output_channels; ++m) {
      Sum weight_sum = 0;
      for (std::int64_t tap = 0; tap < axis_.kernel; ++tap) {
        weight_sum += static_cast<Sum>(std::int32_t{w_[m * axis_.kernel + tap]});
      }
      interior_initial_.push_back(bias(m) - static_cast<Sum>(c.x_zero_point) * weight_sum);
    }
    const std::int64_t last = axis_.input - axis_.kernel_extent() + axis_.pad_begin;
    interior_begin_ = std::min(axis_.output, (axis_.pad_begin + axis_.stride - 1) / axis_.stride);
    interior_end_ = last < 0 ? 0 : std::min(axis_.output, last / axis_.stride + 1);
    interior_end_ = std::max(interior_begin_, interior_end_);
  }

  void run(const Element* x, void* y) const {
    for (std::int64_t m = 0; m < c_.output_channels; ++m) {
      const Element* row = x + m / c_.group_outputs() * axis_.input;
      compute_edge(row, m, 0, interior_begin_, y);
      if (c_.group_outputs() == 1) compute_interior(row, m, y);
      compute_edge(row, m, interior_end_, axis_.output, y);
    }
    if (c_.group_outputs() == 1) return;
    for (std::int64_t group = 0; group < c_.groups; ++group, x += axis_.input) compute_shared_interior(x, group, y);
  }

 private:
  Sum bias(std::int64_t m) const { return static_cast<Sum>(c_.bias[static_cast<std::size_t>(m)]); }

  void compute_edge(const Element* row, std::int64_t m, std::int64_t begin, std::int64_t end, void* y) const {
    const std::int8_t* w = w_ + m * axis_.kernel;
    for (std::int64_t j = begin; j < end; ++j) {
      Sum sum = bias(m);
      for (std::int64_t tap = 0; tap < axis_.kernel; ++tap) {
        const std::int64_t at = axis_.first(j) + tap * axis_.dilation;
        if (at >= 0 && at < axis_.input) sum += product(row[at] - c_.x_zero_point, w[tap]);
      }
      output_.store(&sum, m, j, 1, 1, y);
    }
  }

  void compute_interior(const Element* row, std::int64_t m, void* y) const {
    std::array<Sum, kOutputBlock> sums;
    for (std::int64_t j = interior_begin_; j < interior_end_; j += kOutputBlock) {
      const std::int64_t count = std::min(kOutputBlock, interior_end_ - j);
      std::fill(sums.begin(), sums.end(), interior_initial_[static_cast<std::size_t>(m)]);
      const Element* values = row + axis_.first(j);
      const std::int8_t* w = w_ + m * axis_.kernel;
      const bool is_plain = axis_.stride == 1 && axis_.dilation == 1;
      if (is_plain && axis_.kernel == 3) {
        add_short<3>(values, w, count, sums.data());
      } else if (is_plain && axis_.kernel == 5) {
        add_short<5>(values, w, count, sums.data());
      } else {
        add_any(values, w, count, sums.data());
      }
      output_.store(sums.data(), m, j, 1, count, y);
    }
  }

  // Several output channels of one input channel: each value is read once for a block of them.
  void compute_shared_interior(const Element* row, std::int64_t group, void* y) const {
    const std::int64_t end = (group + 1) * c_.group_outputs();
    for (std::int64_t m = group * c_.group_outputs(); m < end; m += kChannelBlock) {
      const std::int64_t channels = std::min(kChannelBlock, end - m);
      for (std::int64_t j = interior_begin_; j < interior_end_; j += kOutputBlock) {
        const std::int64_t count = std::min(kOutputBlock, interior_end_ - j);
        BlockSums sums;
        for (std::int64_t lane = 0; lane < channels; ++lane) {
          sums[static_cast<std::size_t>(lane)].fill(interior_initial_[static_cast<std::size_t>(m + lane)]);
        }
        const Element* values = row + axis_.first(j);
        for (std::int64_t tap = 0; tap < axis_.kernel; ++tap, values += axis_.dilation) {
          add_shared(values, w_ + m * axis_.kernel + tap, channels, count, sums);
        }
        for (std::int64_t lane = 0; lane < channels; ++lane) {
          output_.store(sums[static_cast<std::size_t>(lane)].data(), m + lane, j, 1, count, y);
        }
      }
    }
  }

  // Adds one tap to the sums of channels that share its values; `w` is its weight in the first of the channels.
  void add_shared(const Element* values, const std::int8_t* w, std::int64_t channels, std::int64_t count,
                  BlockSums& sums) const {
    for (std::int64_t p = 0; p < count; ++p) {
      const std::int32_t value = values[p * axis_.stride];
      for (std::int64_t lane = 0; lane < channels; ++lane) {
        sums[static_cast<std::size_t>(lane)][static_cast<std::size_t>(p)] += product(value, w[lane * axis_.kernel]);
      }
    }
  }

  // All taps of a short kernel at once: each value is read from the cache, each sum is written once.
  template <std::int64_t kTaps>
  static void add_short(const Element* values, const std::int8_t* w, std::int64_t count, Sum* sums) {
    for (std::int64_t p = 0; p < count; ++p) {
      Sum sum = 0;
      for (std::int64_t tap = 0; tap < kTaps; ++tap) sum += product(values[p + tap], w[tap]);
      sums[p] += sum;
    }
  }

  void add_any(const Element* values, const std::int8_t* w, std::int64_t count, Sum* sums) const {
    for (std::int64_t tap = 0; tap < axis_.kernel; ++tap, values += axis_.dilation) {
      for (std::int64_t p = 0; p < count; ++p) sums[p] += product(values[p * axis_.stride], w[tap]);
    }
  }

  const qc::Convolution& c_;
  const qc::Axis axis_;
  const Output& output_;
  const std::int8_t* w_;
  std::int64_t interior_begin_ = 0;
  std::int64_t interior_end_ = 0;
  std::vector<Sum> interior_initial_;  // initial sums of the interior, by output channel
};

// ---- The kernel ----

enum class Path { depthwise, pointwise, long_kernel, strided, dilated, dense };

Path path_of(const qc::Convolution& c) {
  const qc::Axis& axis = c.axes[0];
  if (c.is_depthwise()) return Path::depthwise;
  if (axis.kernel == 1 && axis.pad_begin == 0 && axis.pad_end == 0) return Path::pointwise;
  if (axis.kernel >= kLongKernel && axis.dilation == 1) return Path::long_kernel;
  if (axis.stride != 1) return Path::strided;
  return axis.dilation != 1 ? Path::dilated : Path::dense;
}

// The kernel for one type of x.
class TypedKernel {
 public:
  TypedKernel() = default;
  TypedKernel(const TypedKernel&) = delete;
  TypedKernel& operator=(const TypedKernel&) = delete;
  virtual ~TypedKernel() = default;
  virtual std::size_t scratch_bytes() const = 0;
  virtual void run(const qc::Run& run) const = 0;
};

template <typename Element>
class KernelOf final : public TypedKernel {
 public:
  explicit KernelOf(const qc::Convolution& c) : c_(c), path_(path_of(c)), output_(c) {
    if (path_ == Path::depthwise) {
      depthwise_ = std::make_unique<DepthwiseConvolution<Element>>(c, output_);
    } else {
      dense_ = std::make_unique<DenseConvolution<Element>>(c, output_);
    }
  }

  std::size_t scratch_bytes() const override {
    return path_ == Path::depthwise || path_ == Path::pointwise ? 0 : dense_->scratch_bytes();
  }

  void run(const qc::Run& run) const override {
    const auto* x = static_cast<const Element*>(run.x);
    auto* y = static_cast<std::uint8_t*>(run.y);
    for (std::int64_t n = 0; n < c_.batch; ++n) {
      run_image(x, static_cast<std::int16_t*>(run.scratch), y);
      x += c_.input_channels * c_.axes[0].input;
      y += c_.output_channels * c_.axes[0].output * output_.element_bytes();
    }
  }

 private:
  void run_image(const Element* x, std::int16_t* scratch, void* y) const {
    switch (path_) {
      case Path::depthwise: return depthwise_->run(x, y);
      case Path::pointwise: return dense_->pointwise(x, y);
      case Path::long_kernel: return dense_->long_kernel(x, scratch, y);
      case Path::strided: return dense_->strided(x, scratch, y);
      case Path::dilated: return dense_->dilated(x, scratch, y);
      case Path::dense: return dense_->dense(x, scratch, y);
    }
  }

  const qc::Convolution& c_;
  Path path_;
  Output output_;
  std::unique_ptr<DepthwiseConvolution<Element>> depthwise_;
  std::unique_ptr<DenseConvolution<Element>> dense_;
};

class Conv1d {
 public:
  static constexpr const char* name = "conv1d";
  static constexpr const char* version = "1.0";
  static constexpr std::uint64_t capabilities = 0;

  static void check(const qc::Convolution& c) {
    qc::only(c.axes.size() == 1, "x", "only one spatial dimension");
    qc::only(c.w_type == QC_INT8, "w", "only int8");
    for (const std::int32_t zero_point : c.w_zero_point) qc::only(zero_point == 0, "w_zero_point", "only 0");
    qc::only(!c.is_quantized || c.y_type == c.x_type, "y_zero_point", "only the type of x");
  }

  explicit Conv1d(const qc::Convolution& c) {
    if (c.x_type == QC_INT8) {
      kernel_ = std::make_unique<KernelOf<std::int8_t>>(c);
    } else {
      kernel_ = std::make_unique<KernelOf<std::uint8_t>>(c);
    }
  }

  std::size_t scratch_bytes() const { return kernel_->scratch_bytes(); }
  void run(const qc::Run& run) const { kernel_->run(run); }

 private:
  std::unique_ptr<TypedKernel> kernel_;
};

}  // namespace

QC_EXPORT_KERNEL(Conv1d)
