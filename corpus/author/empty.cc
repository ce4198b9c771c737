#include "corpus/author/convolution_vector.h"

namespace qconform::author {
namespace {

template <typename Builder>
void write(Topic& topic) {
  topic.known(vector<Builder>("no-images", "N=0: an empty output of the right shape", {"C10"}, {"empty"})
                  .x(make::uint8({0, 1, 3, 2}, {}))
                  .w(make::int8({2, 1, 2, 1}, {1, 2, 3, 4})),
              {0, 2, 2, 2}, {});
  topic.known(vector<Builder>("no-output-channels", "M=0: an empty output of the right shape", {"C10"}, {"empty"})
                  .x(make::uint8({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6}))
                  .w(make::int8({0, 1, 2, 1}, {})),
              {1, 0, 2, 2}, {});
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
  write_both(topics, "empty", []<typename Builder>(Topic& topic) { write<Builder>(topic); });
}

}  // namespace qconform::author
