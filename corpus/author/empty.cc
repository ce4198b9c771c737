#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

template <typename Builder>
void write_empty_vectors(Topic& topic) {
  topic.known(vector<Builder>("no-images", "N=0: an empty output of the right shape", {"C10"}, {"empty"})
                  .x(make::uint8({0, 1, 3, 2}, {}))
                  .w(make::int8({2, 1, 2, 1}, {1, 2, 3, 4})),
              {0, 2, 2, 2}, {});
  topic.known(vector<Builder>("no-output-channels", "M=0: an empty output of the right shape", {"C10"}, {"empty"})
                  .x(make::uint8({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6}))
                  .w(make::int8({0, 1, 2, 1}, {})),
              {1, 0, 2, 2}, {});
  topic.known(per_channel(vector<Builder>("no-output-channels-and-no-parameters",
                                          "M=0 with per-channel parameters of shape [0]", {"C10"}, {"empty"})
                              .x(make::uint8({1, 1, 3}, {1, 2, 3}))
                              .w(make::int8({0, 1, 2}, {})),
                          {}),
              {1, 0, 2}, {});
  topic.known(vector<Builder>("no-images-under-same-upper", "N=0: auto_pad still decides the shape", {"C10"},
                              {"empty", "auto_pad"})
                  .x(make::uint8({0, 1, 5}, {}))
                  .w(make::int8({1, 1, 2}, {1, 2}))
                  .strides({2})
                  .auto_pad("SAME_UPPER"),
              {0, 1, 3}, {});
  topic.tolerated(vector<Builder>("no-columns", "W=0 padded on both sides: every window is in the padding", {"C10"},
                                  {"empty", "padding"})
                      .x(make::int8({1, 1, 2, 0}, {}))
                      .x_zero_point(-3)
                      .w(make::int8({2, 1, 1, 1}, {3, 4}))
                      .pads({0, 1, 0, 1}));
  topic.tolerated(
      vector<Builder>("no-input-channels", "C=0: nothing to sum, every output is 0 (or the bias)", {"C10"}, {"empty"})
          .x(make::uint8({1, 0, 2, 2}, {}))
          .w(make::int8({1, 0, 1, 1}, {})));
  topic.tolerated(vector<Builder>("no-rows", "H=0 with one row of padding: every window is in the padding", {"C10"},
                                  {"empty", "padding"})
                      .x(make::uint8({1, 1, 0, 2}, {}))
                      .x_zero_point(9)
                      .w(make::int8({1, 1, 1, 1}, {3}))
                      .pads({1, 0, 0, 0}));
}

}  // namespace

void write_empty(Topics& topics) {
  write_both(topics, "empty", []<typename Builder>(Topic& topic) { write_empty_vectors<Builder>(topic); });
  Topic& qlinear = topics[topics.size() - 2];
  qlinear.tolerated(vector<QLinearConvBuilder>("no-input-channels-with-bias", "C=0: every output is its channel's bias",
                                               {"C10", "C20"}, {"empty", "bias"})
                        .x(make::uint8({1, 0, 2}, {}))
                        .w(make::int8({2, 0, 1}, {}))
                        .bias({5, -6}));
  qlinear.known(vector<QLinearConvBuilder>("no-images-with-bias", "N=0 beside a bias: an empty output", {"C10"},
                                           {"empty", "bias"})
                    .x(make::uint8({0, 1, 2}, {}))
                    .w(make::int8({2, 1, 1}, {1, 2}))
                    .bias({5, -6}),
                {0, 2, 2}, {});
}

}  // namespace qconform::author
