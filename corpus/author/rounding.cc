#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

// A 1x1 convolution by 1: the sums are the values themselves.
QLinearConvBuilder identity(std::string id, std::string note, const std::vector<std::int64_t>& values,
                            const char* power_tag = nullptr) {
  std::vector<std::string> tags{"rounding"};
  if (power_tag != nullptr) tags.emplace_back(power_tag);
  return vector<QLinearConvBuilder>(std::move(id), std::move(note), {"C19"}, std::move(tags))
      .x(make::int8({1, 1, static_cast<std::int64_t>(values.size())}, values))
      .w(make::int8({1, 1, 1}, {1}));
}

// Six ties: v = 0.5, -0.5, 1.5, -1.5, 2.5, -2.5. All scales are powers of two, so that every float32
// evaluation is exact too and the tie rule alone decides.
void write_ties(Topic& topic) {
  struct Ties {
    const char* id;
    const char* note;
    ElementType type;
    std::int64_t zero_point;
  };
  for (const Ties& ties :
       {Ties{"ties-zero-point-0",
             "half away gives 1, -1, 2, -2, 3, -3; half up gives 1, 0, 2, -1, "
             "3, -2",
             ElementType::int8, 0},
        Ties{"ties-zero-point-even", "ties go to the even quotient", ElementType::int8, 10},
        Ties{"ties-zero-point-odd", "rounding after adding the zero point reverses every tie when it is odd",
             ElementType::int8, 11},
        Ties{"ties-zero-point-negative-odd", "the same for a negative zero point", ElementType::int8, -7},
        Ties{"ties-uint8-even", "uint8 around 128", ElementType::uint8, 128},
        Ties{"ties-uint8-odd", "uint8 around 127", ElementType::uint8, 127}}) {
    const std::int64_t z = ties.zero_point;
    topic.known(identity(ties.id, ties.note, {1, -1, 3, -3, 5, -5}, "power-tie")
                    .y_type(ties.type)
                    .y_zero_point(z)
                    .y_scale(2.0F),
                {1, 1, 6}, {z, z, z + 2, z - 2, z + 2, z - 2});
  }
  topic.known(identity("ties-from-small-scales", "2^-3 * 2^-4 / 2^-6 = 1/2: the same ties by other exponents",
                       {1, -1, 3, -3, 5, -5}, "power-tie")
                  .x_scale(0.125F)
                  .w_scale(0.0625F)
                  .y_scale(0.015625F),
              {1, 1, 6}, {0, 0, 2, -2, 2, -2});
  topic.known(identity("quarters", "v = 0.25, 0.75, 1.25, 1.75 and their negatives: truncation and ceiling show",
                       {1, 3, 5, 7, -1, -3, -5, -7})
                  .y_scale(4.0F),
              {1, 1, 8}, {0, 1, 1, 2, 0, -1, -1, -2});
}

void write_saturation(Topic& topic) {
  topic.known(
      identity("saturate-int8-above", "v + 100 at 126, 127, 128 and 227", {26, 27, 28, 127}, "power-saturation-edge")
          .y_zero_point(100),
      {1, 1, 4}, {126, 127, 127, 127});
  topic.known(identity("saturate-int8-below", "v - 100 at -127, -128, -129 and -228", {-27, -28, -29, -128},
                       "power-saturation-edge")
                  .y_zero_point(-100),
              {1, 1, 4}, {-127, -128, -128, -128});
  topic.known(
      identity("saturate-uint8-above", "v + 200 at 254, 255, 256 and 327", {54, 55, 56, 127}, "power-saturation-edge")
          .y_type(ElementType::uint8)
          .y_zero_point(200),
      {1, 1, 4}, {254, 255, 255, 255});
  topic.known(
      identity("saturate-uint8-below", "v + 3 at 1, 0, -1 and -125", {-2, -3, -4, -128}, "power-saturation-edge")
          .y_type(ElementType::uint8)
          .y_zero_point(3),
      {1, 1, 4}, {1, 0, 0, 0});
  topic.known(identity("tie-at-the-upper-bound", "126.5 rounds to 126 and 127.5 saturates to 127, zero point 0",
                       {124, 125, 126, 127}, "power-saturation-edge")
                  .w(make::int8({1, 1, 1}, {3}))
                  .y_scale(2.0F)
                  .y_zero_point(-62),
              {1, 1, 4}, {124, 126, 127, 127});
  topic.known(identity("tie-at-the-lower-bound",
                       "v - 128 at -0.5, 0.5, 1.5 below and above: -127.5 rounds to -128, -128.5 saturates",
                       {1, -1, 3, -3}, "power-saturation-edge")
                  .y_scale(2.0F)
                  .y_zero_point(-128),
              {1, 1, 4}, {-128, -128, -126, -128});
  topic.known(identity("multiplier-of-2-30",
                       "2^30 times sums of 1 and -1: as int32 the product still fits, times 2 it does not",
                       {1, -1, 2, -2, 0, 127}, "power-large-multiplier")
                  .x_scale(0x1p30F)
                  .y_zero_point(9),
              {1, 1, 6}, {127, -128, 127, -128, 9, 127});
  topic.known(identity("multiplier-of-2-40",
                       "2^20 * 2^20 / 1: beyond 64-bit fixed point, a converted float would be INT_MIN for either sign",
                       {1, -1, 0}, "power-large-multiplier")
                  .x_scale(0x1p20F)
                  .w_scale(0x1p20F)
                  .y_type(ElementType::uint8)
                  .y_zero_point(3),
              {1, 1, 3}, {255, 0, 3});
  topic.known(identity("multiplier-of-2-20", "x_scale*w_scale/y_scale = 2^20: everything but 0 saturates", {0, 1, -1},
                       "power-large-multiplier")
                  .x_scale(1024.0F)
                  .w_scale(1024.0F),
              {1, 1, 3}, {0, 127, -128});
}

void write_channels(Topic& topic) {
  topic.known(vector<QLinearConvBuilder>("w-scale-per-channel-in-groups",
                                         "four scales over two groups: the scale's index is the output channel",
                                         {"C19"}, {"per-channel", "group", "1x1", "power-groups"})
                  .x(make::uint8({1, 2, 1, 1}, {4, 8}))
                  .w(make::int8({4, 1, 1, 1}, {4, 4, 4, 4}))
                  .w_scale({1.0F, 0.5F, 0.25F, 2.0F})
                  .w_zero_point({0, 0, 0, 0})
                  .group(2),
              {1, 4, 1, 1}, {16, 8, 8, 64});
  topic.known(vector<QLinearConvBuilder>("w-scale-per-channel-in-wide-groups",
                                         "1x1, three groups of two channels in and two out: no scale or zero point "
                                         "fits another channel",
                                         {"C19", "C13"}, {"per-channel", "group", "1x1", "power-groups"})
                  .x(make::uint8({1, 6, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))
                  .w(make::int8({6, 2, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))
                  .w_scale({1.0F, 0.5F, 0.25F, 2.0F, 0.125F, 0.0625F})
                  .w_zero_point({0, 1, 2, 7, 8, 9})
                  .group(3),
              {1, 6, 1, 2}, {7, 10, 6, 8, 11, 12, 14, 16, 4, 4, 3, 4});
  // One unit in the last place off a tie: a float32 multiplier rounds it away or not, both are right.
  topic.open(identity("just-below-a-tie", "v = 0.49999994: exact arithmetic gives 0", {1, -1, 3}, "power-near-tie")
                 .y_scale(2.0F + 0x1p-22F));
  topic.open(identity("just-above-a-tie", "v = 0.50000006: exact arithmetic gives 1", {1, -1, 3}, "power-near-tie")
                 .y_scale(2.0F - 0x1p-23F));
}

}  // namespace

void write_rounding(Topics& topics) {
  Topic& topic = topics.emplace_back("qlinear_conv/rounding.json");
  write_ties(topic);
  write_saturation(topic);
  write_channels(topic);
}

}  // namespace qconform::author
