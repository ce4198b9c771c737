// Sums: where narrow accumulators overflow, and where 32 bits do.
#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

constexpr std::int64_t kByteProduct = 255 * 255;

// A QLinearConv that shows a sum's size: uint8, zero point 0, y_scale 2^shift.
QLinearConvBuilder scaled_down(int shift, std::string id, std::string note, std::vector<std::string> rules,
                               std::vector<std::string> tags) {
  return wide_vector<QLinearConvBuilder>(shift, std::move(id), std::move(note), std::move(rules), std::move(tags))
      .y_zero_point(0);
}

template <typename Builder>
Builder all_255(Builder builder, std::int64_t depth) {
  builder.x(make::filled(ElementType::uint8, {1, depth, 1, 1}, 255));
  return std::move(builder.w(make::filled(ElementType::uint8, {1, depth, 1, 1}, 255)));
}

template <typename Builder>
Builder pair(Builder builder, std::int64_t w) {
  builder.x(make::uint8({1, 2, 1, 1}, {255, 255}));
  return std::move(builder.w(make::int8({1, 2, 1, 1}, {w, w})));
}

// Two products of -128*-128, 32768 in all: one more than int16 holds.
template <typename Builder>
Builder lowest_pair(Builder builder) {
  builder.x(make::filled(ElementType::int8, {1, 2, 1, 1}, -128));
  return std::move(builder.w(make::filled(ElementType::int8, {1, 2, 1, 1}, -128)));
}

// x all 255, w = 127, -127, 127 in one channel, K=3: pairs (127, -127) cancel, (127, 127) do not.
template <typename Builder>
Builder mixed_pairs(Builder builder) {
  builder.x(make::filled(ElementType::uint8, {1, 3, 1, 1}, 255));
  return std::move(builder.w(make::int8({2, 3, 1, 1}, {127, -127, 127, 127, 127, -127})));
}

template <typename Builder>
Builder nine_lowest(Builder builder) {
  builder.x(make::filled(ElementType::int8, {1, 1, 3, 3}, -128));
  return std::move(builder.w(make::filled(ElementType::int8, {1, 1, 3, 3}, -128)));
}

void write_integer(Topic& topic) {
  const auto start = vector<ConvIntegerBuilder>;
  topic.known(
      pair(start("int16-pair-positive", "255*127 + 255*127 = 64770: adding u8*s8 pairs in int16 saturates at 32767",
                 {"C18"}, {"pair-saturation", "power-extreme-products"}),
           127),
      {1, 1, 1, 1}, {64770});
  topic.known(pair(start("int16-pair-negative", "255*-128 twice = -65280: int16 saturates at -32768", {"C18"},
                         {"pair-saturation", "power-extreme-products"}),
                   -128),
              {1, 1, 1, 1}, {-65280});
  topic.known(pair(start("int16-pair-just-within", "255*64 twice = 32640: the largest weights no pair saturates with",
                         {"C18"}, {"pair-saturation", "power-extreme-products"}),
                   64),
              {1, 1, 1, 1}, {32640});
  topic.known(lowest_pair(start("int16-pair-of-the-lowest",
                                "-128*-128 twice = 32768: one beyond int16, so it saturates or turns negative",
                                {"C18", "C17"}, {"pair-saturation", "power-extreme-products"})),
              {1, 1, 1, 1}, {32768});
  topic.known(mixed_pairs(start("int16-pairs-of-both-signs",
                                "the same sum, 32385: pairs that cancel are harmless, the pair 127, 127 is not",
                                {"C18"}, {"pair-saturation", "power-extreme-products"})),
              {1, 2, 1, 1}, {32385, 32385});
  topic.known(start("lowest-sum-beyond-int32", "65794 products of 255*-128 = -2147516160 wrap to 2147451136", {"C17"},
                    {"int32", "wrap", "power-deep-sum"})
                  .x(make::filled(ElementType::uint8, {1, 65794, 1}, 255))
                  .w(make::filled(ElementType::int8, {1, 65794, 1}, -128)),
              {1, 1, 1}, {2147451136});
  topic.known(nine_lowest(start("int16-nine-taps", "nine products of -128*-128 sum to 147456: int16 wraps after two",
                                {"C17"}, {"int16", "power-extreme-products"})),
              {1, 1, 1, 1}, {147456});
  topic.known(start("five-products", "K=5: products beyond a multiple of four are not lost", {"C17"}, {"tail"})
                  .x(make::uint8({1, 5, 1, 1}, {1, 2, 3, 4, 5}))
                  .w(make::int8({1, 5, 1, 1}, {1, 1, 1, 1, 20})),
              {1, 1, 1, 1}, {110});
  topic.known(all_255(start("beyond-float32", "259 * 65025 = 16841475 is odd and above 2^24: float32 cannot hold it",
                            {"C17"}, {"float-accumulator", "power-wide-sum"}),
                      259),
              {1, 1, 1, 1}, {259 * kByteProduct});
  topic.known(all_255(start("largest-depth-within-int32", "33025 * 65025 = 2147450625, just below 2^31", {"C17"},
                            {"int32", "power-wide-sum"}),
                      33025),
              {1, 1, 1, 1}, {33025 * kByteProduct});
  topic.known(all_255(start("first-depth-beyond-int32",
                            "33026 * 65025 = 2147515650 exceeds int32: the sum wraps to -2147451646", {"C17"},
                            {"int32", "wrap", "power-deep-sum"}),
                      33026),
              {1, 1, 1, 1}, {33026 * kByteProduct - (std::int64_t{1} << 32)});
}

void write_qlinear(Topic& topic) {
  topic.known(pair(scaled_down(9, "int16-pair-positive",
                               "64770 / 512 = 126.5: adding u8*s8 pairs in int16 gives 32767 / 512 = 64", {"C18"},
                               {"pair-saturation", "power-extreme-products"}),
                   127),
              {1, 1, 1, 1}, {127});
  topic.known(
      pair(scaled_down(9, "int16-pair-negative", "-65280 / 512 + 200 = 72.5: adding u8*s8 pairs in int16 gives 136",
                       {"C18"}, {"pair-saturation", "power-extreme-products"})
               .y_zero_point(200),
           -128),
      {1, 1, 1, 1}, {72});
  topic.known(lowest_pair(scaled_down(9, "int16-pair-of-the-lowest",
                                      "32768 / 512 = 64: one beyond int16, so it turns negative and gives 0, or "
                                      "saturates",
                                      {"C18", "C17"}, {"pair-saturation", "power-extreme-products"})),
              {1, 1, 1, 1}, {64});
  topic.known(mixed_pairs(scaled_down(8, "int16-pairs-of-both-signs",
                                      "32385 / 256 = 126.5 + 1/256 in both channels: the pair 127, 127 loses 32003 in "
                                      "int16",
                                      {"C18"}, {"pair-saturation", "power-extreme-products"})),
              {1, 2, 1, 1}, {127, 127});
  topic.open(scaled_down(24, "bias-beyond-int32",
                         "255*127 + 2^31-1 exceeds int32: the exact sum gives 128, the wrapped one saturates at 0",
                         {"C17", "C20"}, {"int32", "wrap", "bias", "power-large-bias"})
                 .x(make::uint8({1, 1, 1}, {255}))
                 .w(make::int8({1, 1, 1}, {127}))
                 .bias({2147483647}));
  topic.known(nine_lowest(scaled_down(10, "int16-nine-taps", "nine products of -128*-128: 147456 / 1024 = 144", {"C17"},
                                      {"int16", "power-extreme-products"})),
              {1, 1, 1, 1}, {144});
  topic.known(all_255(scaled_down(24, "largest-depth-within-int32",
                                  "2147450625 / 2^24 = 127.998: the largest sum of bytes within int32", {"C17"},
                                  {"int32", "power-wide-sum"}),
                      33025),
              {1, 1, 1, 1}, {128});
  topic.open(all_255(scaled_down(24, "first-depth-beyond-int32",
                                 "the sum exceeds int32: requantizing the exact or the wrapped sum are both right",
                                 {"C17"}, {"int32", "wrap", "power-deep-sum"}),
                     33026));
  topic.known(scaled_down(24, "wrapped-partial-sum",
                          "B = 2^31-1 and products +32385 -32385: a partial sum may wrap, the total is inside int32",
                          {"C17", "C20"}, {"int32", "bias"})
                  .x(make::uint8({1, 2, 1, 1}, {255, 255}))
                  .w(make::int8({1, 2, 1, 1}, {127, -127}))
                  .bias({2147483647}),
              {1, 1, 1, 1}, {128});
}

}  // namespace

void write_accumulation(Topics& topics) {
  write_qlinear(topics.emplace_back("qlinear_conv/accumulation.json"));
  write_integer(topics.emplace_back("conv_integer/accumulation.json"));
}

}  // namespace qconform::author
