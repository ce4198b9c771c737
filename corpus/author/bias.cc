#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

QLinearConvBuilder start(std::string id, std::string note, std::vector<std::string> rules,
                         std::vector<std::string> tags = {}) {
  tags.insert(tags.begin(), "bias");
  return vector<QLinearConvBuilder>(std::move(id), std::move(note), std::move(rules), std::move(tags));
}

}  // namespace

void write_bias(Topics& topics) {
  Topic& topic = topics.emplace_back("qlinear_conv/bias.json");
  topic.known(start("bias-in-units-of-the-product",
                    "(3*2 + 10) * 0.5*0.25/0.0625 = 32: added after scaling the bias gives 22", {"C20"})
                  .x(make::uint8({1, 1, 1, 1}, {3}))
                  .x_scale(0.5F)
                  .w(make::int8({1, 1, 1, 1}, {2}))
                  .w_scale(0.25F)
                  .y_scale(0.0625F)
                  .bias({10}),
              {1, 1, 1, 1}, {32});
  topic.known(start("bias-per-channel", "the bias is scaled by its own channel's w_scale", {"C20"})
                  .x(make::uint8({1, 1, 1}, {5}))
                  .w(make::int8({3, 1, 1}, {1, 2, 3}))
                  .w_scale({1.0F, 2.0F, 4.0F})
                  .w_zero_point({0, 0, 0})
                  .bias({-3, 5, -20}),
              {1, 3, 1}, {2, 30, -20});
  topic.known(start("bias-has-no-zero-point", "zero points of x, w and y do not touch the bias", {"C20"})
                  .x(make::uint8({1, 1, 1}, {107}))
                  .x_zero_point(100)
                  .w(make::int8({1, 1, 1}, {-47}))
                  .w_zero_point(-50)
                  .y_zero_point(-30)
                  .bias({20}),
              {1, 1, 1}, {11});
  topic.known(start("bias-in-windows-wholly-in-padding", "a window in the padding gives the bias, not 0", {"C9", "C20"})
                  .x(make::uint8({1, 1, 1, 1}, {7}))
                  .x_zero_point(5)
                  .w(make::int8({2, 1, 1, 1}, {3, -3}))
                  .pads({0, 1, 0, 1})
                  .bias({4, 50}),
              {1, 2, 1, 3}, {4, 10, 4, 50, 44, 50});
  topic.known(start("bias-near-2-30", "B = 2^30 + 2^22: a bias that 16 bits or a wrapped shift lose", {"C20", "C17"},
                    {"power-large-bias"})
                  .x(make::uint8({1, 1, 1}, {1}))
                  .w(make::int8({1, 1, 1}, {1}))
                  .y_type(ElementType::uint8)
                  .y_scale(0x1p24F)
                  .bias({1077936128}),
              {1, 1, 1}, {64});
  topic.known(
      start("bias-at-the-ends-of-int32", "B = 2^31-1 and -2^31: the sums 2147483647 and -2147483648 are inside int32",
            {"C20", "C17"}, {"power-large-bias"})
          .x(make::uint8({1, 1, 1}, {5}))
          .x_zero_point(5)
          .w(make::int8({2, 1, 1}, {1, 1}))
          .y_scale(0x1p26F)
          .bias({2147483647, -2147483648}),
      {1, 2, 1}, {32, -32});
  topic.known(start("bias-near-2-30-of-both-signs",
                    "B = +-(2^30 + 1) odd, plus products of +-1: quotients by 2^24 a hair above 64 and -64", {"C20"},
                    {"power-large-bias", "power-wide-sum"})
                  .x(make::uint8({1, 1, 1}, {1}))
                  .w(make::int8({4, 1, 1}, {2, 1, -1, -2}))
                  .y_scale(0x1p24F)
                  .bias({1073741825, -1073741825, 1073741825, -1073741825}),
              {1, 4, 1}, {64, -64, 64, -64});
  topic.known(
      start("bias-odd-beyond-float32",
            "B = 16807815, 16807816 and 16807817, above 2^24, less 519 products of 255*127: held in float32 B is even",
            {"C20", "C17"}, {"power-large-bias", "power-wide-sum"})
          .x(make::filled(ElementType::uint8, {1, 519, 1}, 255))
          .w(make::filled(ElementType::int8, {3, 519, 1}, -127))
          .bias({16807815, 16807816, 16807817}),
      {1, 3, 1}, {0, 1, 2});
  topic.open(start("sum-one-above-a-tie-beyond-float32",
                   "16908289 / 2^18 = 64.5 + 2^-18: exact arithmetic gives 65, a sum held in float32 gives 64",
                   {"C19", "C20"})
                 .x(make::uint8({1, 1, 1}, {1}))
                 .w(make::int8({1, 1, 1}, {1}))
                 .y_scale(0x1p18F)
                 .bias({16908288}));
}

}  // namespace qconform::author
