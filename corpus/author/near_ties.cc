// Next to a tie: where one rounding more or less decides, and which arithmetic may decide how.
#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

using Sums = std::vector<std::int64_t>;

// One output channel for each sum: 1 * 1 and a bias of the sum less 1.
QLinearConvBuilder sums(std::string id, std::string note, const Sums& values, std::vector<std::string> tags) {
  const auto channels = static_cast<std::int64_t>(values.size());
  Sums bias;
  for (const std::int64_t value : values) bias.push_back(value - 1);
  tags.insert(tags.begin(), "rounding");
  return vector<QLinearConvBuilder>(std::move(id), std::move(note), {"C19"}, std::move(tags))
      .x(make::uint8({1, 1, 1}, {1}))
      .w(make::filled(ElementType::int8, {channels, 1, 1}, 1))
      .bias(bias);
}

const Sums kSixTies{1, -1, 3, -3, 5, -5};

// Off the ties 0.5, 1.5 and 2.5 of both signs by the last places of a scale. u = 2^-24.
void write_nudged(Topic& topic) {
  const std::vector<std::string> tags{"power-near-tie"};
  topic.open(sums("one-ulp-below-ties", "x_scale 1 - u: exactly 0, 1 and 2 of either sign; float32 may reach the ties",
                  kSixTies, tags)
                 .x_scale(0x0.ffffffp0F)
                 .y_scale(2.0F)
                 .y_zero_point(4));
  topic.open(sums("one-ulp-above-ties", "x_scale 1 + 2u: exactly 1, 2 and 3 of either sign; float32 may reach the ties",
                  kSixTies, tags)
                 .x_scale(0x1.000002p0F)
                 .y_scale(2.0F)
                 .y_zero_point(-5));
  topic.known(sums("five-ulps-below-ties", "x_scale 1 - 5u: farther from the tie than four float32 roundings lead",
                   kSixTies, tags)
                  .x_scale(0x0.fffffbp0F)
                  .y_scale(2.0F),
              {1, 6, 1}, {0, 0, 1, -1, 2, -2});
  topic.known(sums("six-ulps-above-ties", "x_scale 1 + 6u: farther from the tie than four float32 roundings lead",
                   kSixTies, tags)
                  .x_scale(0x1.000006p0F)
                  .y_scale(2.0F)
                  .y_zero_point(3),
              {1, 6, 1}, {4, 2, 5, 1, 6, 0});
  topic.known(sums("one-ulp-of-the-sum-beside-ties",
                   "2^23 -+ 1 over 2^24: a sum that float32 holds, scaled by a power of two, is exact",
                   {8388607, 8388609, -8388607, -8388609}, {"power-near-tie", "power-large-bias"})
                  .y_scale(0x1p24F)
                  .y_zero_point(7),
              {1, 4, 1}, {7, 8, 7, 6});
  topic.known(
      sums("ties-of-large-sums", "3 * 2^27, 5 * 2^27 and 2^27 over 2^28: ties that no float32 step disturbs",
           {402653184, -402653184, 671088640, -671088640, 134217728, -134217728}, {"power-tie", "power-large-bias"})
          .y_scale(0x1p28F)
          .y_zero_point(-3),
      {1, 6, 1}, {-1, -5, -1, -5, -3, -3});
}

// Sums that float32 does not hold: more than 24 bits between the highest and the lowest one.
void write_wide(Topic& topic) {
  topic.open_unlike_float32(sums("wide-sums-above-half", "(2^24 + 1) / 2^25: rounded to float32 the sum is a tie",
                                 {16777217, -16777217}, {"power-wide-sum", "power-large-bias"})
                                .y_scale(0x1p25F));
  topic.open_unlike_float32(sums("wide-sums-below-three-halves",
                                 "(3 * 2^24 - 1) / 2^25: rounded to float32 the sum is a tie", {50331647, -50331647},
                                 {"power-wide-sum", "power-large-bias"})
                                .y_scale(0x1p25F)
                                .y_zero_point(-11));
  topic.open_unlike_float32(sums("wide-sums-near-2-30", "(2^30 + 2^29 +- 1) / 2^30: 1.5 once rounded to float32",
                                 {1610612735, 1610612737, -1610612735, -1610612737},
                                 {"power-wide-sum", "power-large-bias"})
                                .y_scale(0x1p30F)
                                .y_zero_point(1));
}

// The products of 21-, 13- and 18-bit factors come as near to a tie as such factors can.
void write_hardest(Topic& topic) {
  const std::vector<std::string> tags{"power-near-tie", "power-wide-sum", "power-large-bias", "hardest"};
  topic.open_unlike_float32(
      sums("one-half-and-2-to-the-minus-58",
           "160465489 * 5139 * 174763 = 2^57 + 1, over 2^58: double arithmetic cannot tell it from "
           "the tie",
           {160465489, -160465489}, tags)
          .x_scale(0x1.413p-2F)
          .w_scale(0x1.55558p3F)
          .y_scale(0x1p30F));
  topic.open_unlike_float32(
      sums("three-halves-less-3-over-2-to-the-61",
           "(2^30 - 1) * 39975 * 80581 = 3 * (2^60 - 1), over 2^61: double arithmetic cannot tell "
           "it from the tie",
           {1073741823, -1073741823}, tags)
          .x_scale(0x1.384ep0F)
          .w_scale(0x1.3ac5p0F)
          .y_scale(0x1p30F)
          .y_zero_point(20));
  topic.open(sums("one-half-and-2-to-the-minus-58-beyond-the-domain", "the same with whole scales and y_scale 2^58",
                  {160465489, -160465489}, tags)
                 .x_scale(5139.0F)
                 .w_scale(174763.0F)
                 .y_scale(0x1p58F));
  topic.open(sums("three-halves-less-3-over-2-to-the-61-beyond-the-domain",
                  "the same with whole scales and y_scale 2^61", {1073741823, -1073741823}, tags)
                 .x_scale(39975.0F)
                 .w_scale(80581.0F)
                 .y_scale(0x1p61F));
}

// Scales as networks have them. The usual float32 expression, the sum times RN(RN(sx * sw) / sy), crosses
// the tie, and is right to: the specification asks for no other precision.
void write_realistic(Topic& topic) {
  struct Crossing {
    const char* id;
    std::int64_t sum;
    float x_scale, w_scale, y_scale;
    ElementType y_type;
    std::int64_t y_zero_point;
    const char* note;
  };
  const ElementType u8 = ElementType::uint8;
  const ElementType s8 = ElementType::int8;
  for (const Crossing& c : {Crossing{"float32-crosses-89-halves", 89, 0.02F, 0.0235F, 0x1.ea13d4p-12F, u8, 0,
                                     "just below 89.5: 89 exactly, 90 in float32"},
                            Crossing{"float32-crosses-minus-44-halves", -31, 0.1F, 0.0235F, 0x1.ad267cp-10F, s8, 3,
                                     "just below -44.5: -45 exactly, -44 in float32; zero point odd"},
                            Crossing{"float32-crosses-one-half", 75, 0.0235F, 1.0F / 255, 0x1.c4f82cp-7F, s8, -128,
                                     "just above 0.5: 1 exactly, 0 in float32"},
                            Crossing{"float32-crosses-42-halves", 93, 0.47F, 2.0F / 255, 0x1.08522cp-7F, u8, 128,
                                     "just above 42.5: 43 exactly, 42 in float32"},
                            Crossing{"float32-crosses-97-halves", 15521, 0.02F, 0.1F, 0x1.460546p-2F, s8, 0,
                                     "just below 97.5: 97 exactly, 98 in float32"},
                            Crossing{"float32-crosses-minus-66-halves", -20747, 2.0F / 255, 0.0235F, 0x1.d710c4p-5F, u8,
                                     131, "just below -66.5: -67 exactly, -66 in float32"},
                            Crossing{"float32-crosses-minus-63-halves", -5369, 0.1F, 0.47F, 0x1.fca8fp1F, s8, 64,
                                     "just above -63.5: -63 exactly, -64 in float32"},
                            Crossing{"float32-crosses-61-halves", 42462889, 1.0F / 255, 0.05F, 0x1.0ec41ep7F, s8, 1,
                                     "just above 61.5 with a sum beyond 24 bits: 62 exactly, 61 in float32"}}) {
    topic.open_unlike_float32(sums(c.id, c.note, {c.sum}, {"power-near-tie"})
                                  .x_scale(c.x_scale)
                                  .w_scale(c.w_scale)
                                  .y_type(c.y_type)
                                  .y_scale(c.y_scale)
                                  .y_zero_point(c.y_zero_point));
  }
}

// Values that one tier admits and another does not; the tag says which.
void write_tiers(Topic& topic) {
  topic.known(sums("tie-that-float32-keeps",
                   "0.5 by powers of two: nothing rounds in float32 and 0 alone is right; fixed point ties may go up",
                   {1, -1}, {"tiers", "tiers:q31-beyond-f5", "power-tie"})
                  .y_scale(2.0F),
              {1, 2, 1}, {0, 0});
  topic.open(sums("near-tie-that-fixed-point-keeps",
                  "100.5 - 2^-17 with a multiplier above a half: float32 may give 101, fixed point gives 100",
                  {134, -134}, {"tiers", "tiers:f5-beyond-e", "tiers:f5-beyond-q31", "power-near-tie"})
                 .x_scale(0x1.7ffffcp-1F));
  topic.known(vector<QLinearConvBuilder>(
                  "cancelling-products",
                  "255*127 - 255*127 + 1 = 1, v = 0.5 + 2^-12: a float convolution's error is of the size of its terms",
                  {"C19"}, {"rounding", "tiers", "tiers:d-beyond-f5", "power-extreme-products"})
                  .x(make::uint8({1, 3, 1}, {255, 255, 1}))
                  .w(make::int8({1, 3, 1}, {127, -127, 1}))
                  .x_scale(0x1.002p-1F),
              {1, 1, 1}, {1});
  topic.known(sums("four-roundings", "A = 3: 1.5(1 - 5u) is out of the reach of four roundings", {3},
                   {"tiers", "power-near-tie"})
                  .x_scale(0x0.fffffbp0F)
                  .y_scale(2.0F),
              {1, 1, 1}, {1});
  topic.open(sums("five-roundings", "A = 3(2^23 + 1), no float32: 1.5(1 - 5u) is just in the reach of five roundings",
                  {25165827}, {"tiers", "tiers:f5-beyond-e", "power-near-tie", "power-wide-sum"})
                 .x_scale(0x0.fffffbp0F)
                 .y_scale(16777218.0F));
}

}  // namespace

void write_near_ties(Topics& topics) {
  Topic& topic = topics.emplace_back("qlinear_conv/near_ties.json");
  write_nudged(topic);
  write_wide(topic);
  write_hardest(topic);
  write_realistic(topic);
  write_tiers(topic);
}

}  // namespace qconform::author
