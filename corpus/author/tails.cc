// Sizes around the lanes of vectors: 4, 8, 16 and 32 channels in and out, and columns.
#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

// Sums of `depth` products of bytes spread out like its square root: this many bits bring nearly all
// of them into 8 bits.
int shift_for(std::int64_t depth) {
  int bits = 6;
  for (std::int64_t scale = 1; scale < depth; scale *= 4) ++bits;
  return bits;
}

template <typename Builder>
Builder sized(std::int64_t depth, std::string id, std::string note) {
  return wide_vector<Builder>(shift_for(depth), std::move(id), std::move(note), {"C17"}, {"tail", "power-tails"});
}

// Every size of a row is one short of, equal to, or one beyond a multiple of 4, 8, 16 or 32.
template <typename Builder>
void write_channel_tails(Topic& topic) {
  struct Sizes {
    std::int64_t in;
    std::int64_t out;
  };
  for (const Sizes& sizes :
       {Sizes{3, 4}, Sizes{4, 5}, Sizes{5, 3}, Sizes{7, 8}, Sizes{8, 9}, Sizes{9, 7}, Sizes{15, 16}, Sizes{16, 17},
        Sizes{17, 15}, Sizes{31, 33}, Sizes{32, 31}, Sizes{33, 32}}) {
    const std::string in = std::to_string(sizes.in);
    const std::string out = std::to_string(sizes.out);
    topic.computed(sized<Builder>(sizes.in, "channels-" + in + "-to-" + out,
                                  "1x1 over " + in + " channels to " + out + ": the last lanes of every vector width")
                       .x(pattern(ElementType::uint8, {1, sizes.in, 1, 1}, 3, 101))
                       .x_zero_point(121)
                       .w(pattern(ElementType::int8, {sizes.out, sizes.in, 1, 1}, -77, 59)));
  }
}

// Depthwise: one channel each, so that columns are what fills a vector.
template <typename Builder>
void write_columns(Topic& topic) {
  for (const std::int64_t width : {4, 7, 8, 9, 15, 16, 17, 31, 32, 33}) {
    const std::string text = std::to_string(width);
    topic.computed(
        sized<Builder>(2, "columns-" + text, "two taps over " + text + " columns, the last of them half in the padding")
            .x(pattern(ElementType::int8, {1, 1, width}, -100, 71))
            .x_zero_point(-9)
            .w(pattern(ElementType::int8, {1, 1, 2}, 88, -61))
            .pads({0, 1}));
  }
}

// 3x3 taps: 9 products are no multiple of any lane count, whatever the channels.
template <typename Builder>
void write_taps(Topic& topic) {
  for (const std::int64_t channels : {1, 3, 4, 5}) {
    const std::string text = std::to_string(channels);
    topic.computed(sized<Builder>(9 * channels, "nine-taps-of-" + text + "-channels",
                                  "a 3x3 kernel over " + text + " channels: " + std::to_string(9 * channels) +
                                      " products, with padding and both zero points")
                       .x(pattern(ElementType::uint8, {1, channels, 3, 3}, 200, 89))
                       .x_zero_point(128)
                       .w(pattern(ElementType::uint8, {3, channels, 3, 3}, 19, 97))
                       .w_zero_point(130)
                       .pads({1, 1, 1, 1}));
  }
}

}  // namespace

void write_tails(Topics& topics) {
  write_both(topics, "tails", []<typename Builder>(Topic& topic) {
    write_channel_tails<Builder>(topic);
    write_columns<Builder>(topic);
    write_taps<Builder>(topic);
  });
}

}  // namespace qconform::author
