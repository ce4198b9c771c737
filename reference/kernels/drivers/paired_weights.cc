#include "reference/kernels/drivers/paired_weights.h"

#include <algorithm>
#include <span>
#include <utility>

namespace qconform::reference {
namespace {

// The time of copying a row in another order, as a part of that of a panel's products.
constexpr double kReordering = 0.1;

// Beyond this share of the pairs, remainders cost more than 16-bit values do.
constexpr double kMostRemainders = 0.15;

constexpr int kGroup = 4;  // bytes that a lane takes at a time: two pairs

// The part of two weights, both of one sign, that is left for a second pair.
constexpr int remainder_of(int a, int b) {
  const int positive = std::max(a, 0) + std::max(b, 0);
  const int negative = std::min(a, 0) + std::min(b, 0);
  return std::max(positive - kPairLimit, 0) + std::min(negative + kPairLimit, 0);
}

// Weights of neighbouring bytes of x.
struct WindowWeights {
  int lanes;
  std::int16_t of[kRowOrderBytes][kPanelChannels];

  [[nodiscard]] bool any(int byte) const {
    return std::any_of(of[byte], of[byte] + lanes, [](std::int16_t w) { return w != 0; });
  }
  // The number of lanes in which the bytes do not fit each other.
  [[nodiscard]] int misfits(int a, int b) const {
    int count = 0;
    for (int lane = 0; lane < lanes; ++lane) count += remainder_of(of[a][lane], of[b][lane]) != 0 ? 1 : 0;
    return count;
  }
};

// Bytes of a window that are multiplied one after the other, at most 16.
struct Lot {
  std::int64_t run;
  std::int64_t at;
  std::uint8_t bytes[kRowOrderBytes] = {};
  int length = 0;

  [[nodiscard]] int groups() const { return (length + kGroup - 1) / kGroup; }
};

// Exchanges partners as long as fewer weights then exceed the limit.
void improve_pairs(Lot& lot, const WindowWeights& w) {
  std::uint8_t* const at = lot.bytes;
  int misfits[kRowOrderBytes] = {};  // of the pair that begins there
  for (int i = 0; i < lot.length; i += 2) misfits[i] = w.misfits(at[i], at[i + 1]);
  for (bool improved = true; improved;) {
    improved = false;
    for (int i = 0; i < lot.length; i += 2) {
      for (int j = i + 2; j < lot.length; j += 2) {
        const int now = misfits[i] + misfits[j];
        if (now == 0) continue;
        const int first = w.misfits(at[i], at[j]) + w.misfits(at[i + 1], at[j + 1]);
        const int second = w.misfits(at[i], at[j + 1]) + w.misfits(at[i + 1], at[j]);
        if (std::min(first, second) >= now) continue;
        std::swap(at[i + 1], at[first <= second ? j : j + 1]);
        misfits[i] = w.misfits(at[i], at[i + 1]);
        misfits[j] = w.misfits(at[j], at[j + 1]);
        improved = true;
      }
    }
  }
}

// Pairs of the bytes that have weights. An odd one has a partner without: then there is one.
Lot pair_up(std::int64_t run, std::int64_t at, const WindowWeights& w) {
  Lot lot{.run = run, .at = at};
  int without = 0;
  for (int i = 0; i < kRowOrderBytes; ++i) {
    if (w.any(i)) {
      lot.bytes[lot.length++] = static_cast<std::uint8_t>(i);
    } else {
      without = i;
    }
  }
  if (lot.length % 2 == 1) lot.bytes[lot.length++] = static_cast<std::uint8_t>(without);
  improve_pairs(lot, w);
  return lot;
}

// Lots and their weights, in the order in which they are multiplied: [group][lane][kGroup].
struct Sequence {
  std::vector<Lot> lots;
  std::vector<std::int8_t> weights;
  std::int64_t pairs = 0;
  std::int64_t fitting = 0;

  // Takes the weights of the lot's pairs out of the window, up to the limit.
  void add(const Lot& lot, WindowWeights& w) {
    lots.push_back(lot);
    const auto begin = static_cast<std::int64_t>(weights.size());
    weights.resize(weights.size() + static_cast<std::size_t>(lot.groups() * kGroup * w.lanes));
    for (int i = 0; i < lot.length; i += 2) {
      std::int8_t* const to = weights.data() + begin + i / kGroup * kGroup * w.lanes + i % kGroup;
      fitting += w.misfits(lot.bytes[i], lot.bytes[i + 1]) == 0 ? 1 : 0;
      ++pairs;
      for (int lane = 0; lane < w.lanes; ++lane) {
        std::int16_t& first = w.of[lot.bytes[i]][lane];
        std::int16_t& second = w.of[lot.bytes[i + 1]][lane];
        const int remainder = remainder_of(first, second);
        to[lane * kGroup] = static_cast<std::int8_t>(first - remainder);
        to[lane * kGroup + 1] = static_cast<std::int8_t>(second);
        first = static_cast<std::int16_t>(remainder);
        second = 0;
      }
    }
  }
};

// Panels that share an order.
class SharingPanels {
 public:
  SharingPanels(const PackedWeights& weights, std::span<const WeightPanel> panels, int lanes)
      : weights_(&weights), panels_(panels), lanes_(lanes) {
    for (std::int64_t run = 0; run < weights.runs(); ++run) {
      for (std::int64_t at = 0; at < weights.run_elements(); at += 2 * kRowOrderBytes) add(run, at);
    }
  }

  [[nodiscard]] std::size_t count() const { return panels_.size(); }
  [[nodiscard]] std::int64_t pairs() const { return doubles_.pairs + singles_.pairs; }
  [[nodiscard]] std::int64_t fitting() const { return doubles_.fitting + singles_.fitting; }
  // Products of remainders for each of those that are no remainders.
  [[nodiscard]] double excess() const {
    const auto most = static_cast<double>(doubles_.weights.size() + singles_.weights.size() + 1);
    return static_cast<double>(remainders_.weights.size()) / most;
  }

  // `first`: the index of the first panel.
  [[nodiscard]] PairOrder order(std::size_t first) const {
    PairOrder order{.blocks = {}, .doubles = 0, .row_bytes = 0, .panels_end = first + panels_.size()};
    for (std::size_t i = 0; i < doubles_.lots.size(); i += 2) {
      order.blocks.push_back(block(doubles_.lots[i], order.row_bytes));
      std::copy_n(doubles_.lots[i + 1].bytes, kRowOrderBytes, order.blocks.back().order + kRowOrderBytes);
      order.row_bytes += 2 * kRowOrderBytes;
    }
    order.doubles = static_cast<std::int64_t>(order.blocks.size());
    for (const Sequence* sequence : {&singles_, &remainders_}) {
      for (const Lot& lot : sequence->lots) {
        order.blocks.push_back(block(lot, order.row_bytes));
        order.row_bytes += lot.groups() * kGroup;
      }
    }
    return order;
  }

  void append_weights(std::size_t panel, std::vector<std::int8_t>& to) const {
    std::ptrdiff_t all = 0;
    std::ptrdiff_t begin = 0;
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      if (i == panel) begin = all;
      all += std::ptrdiff_t{panels_[i].vectors} * lanes_ * kGroup;
    }
    for (const Sequence* sequence : {&doubles_, &singles_, &remainders_}) {
      const std::vector<std::int8_t>& from = sequence->weights;
      for (auto group = from.begin(); group != from.end(); group += all) {
        to.insert(to.end(), group + begin, group + begin + std::ptrdiff_t{panels_[panel].vectors} * lanes_ * kGroup);
      }
    }
  }

 private:
  static RowOrder::Block block(const Lot& lot, std::int64_t to) {
    RowOrder::Block block{.run = lot.run, .at = lot.at, .to = to, .order = {}};
    std::copy_n(lot.bytes, kRowOrderBytes, block.order);
    return block;
  }

  // Two windows, the second of them perhaps behind the run.
  void add(std::int64_t run, std::int64_t at) {
    const std::int64_t second = at + kRowOrderBytes;
    WindowWeights weights[2] = {window(run, at),
                                second < weights_->run_elements() ? window(run, second) : WindowWeights{}};
    const Lot lots[2] = {pair_up(run, at, weights[0]), pair_up(run, second, weights[1])};
    const bool is_double = lots[0].length + lots[1].length == 2 * kRowOrderBytes;
    for (int i = 0; i < 2; ++i) {
      WindowWeights& w = weights[i];
      if (lots[i].length > 0) (is_double ? doubles_ : singles_).add(lots[i], w);
      for (Lot rest = pair_up(run, lots[i].at, w); rest.length > 0; rest = pair_up(run, lots[i].at, w)) {
        remainders_.add(rest, w);
      }
    }
  }

  [[nodiscard]] WindowWeights window(std::int64_t run, std::int64_t at) const {
    WindowWeights w{.lanes = 0, .of = {}};
    for (const WeightPanel& panel : panels_) {
      const std::int64_t lanes = std::int64_t{panel.vectors} * lanes_;
      const std::byte* const from = weights_->data(panel) + (run * weights_->run_elements() + at) * lanes;
      for (int i = 0; i < kRowOrderBytes; ++i) {
        for (std::int64_t lane = 0; lane < lanes; ++lane) {
          w.of[i][w.lanes + lane] = static_cast<std::int8_t>(from[(i / kGroup * lanes + lane) * kGroup + i % kGroup]);
        }
      }
      w.lanes += static_cast<int>(lanes);
    }
    return w;
  }

  const PackedWeights* weights_;
  std::span<const WeightPanel> panels_;
  int lanes_;
  Sequence doubles_;  // pairs of two windows at a time
  Sequence singles_;
  Sequence remainders_;
};

// As many panels share the order of the first as are worth it.
SharingPanels share(const PackedWeights& weights, std::span<const WeightPanel> panels, int lanes) {
  const int widest = std::max(panels.front().vectors, panels.back().vectors);
  const auto most = std::min(panels.size(), static_cast<std::size_t>(kPanelChannels / lanes / widest));
  SharingPanels best(weights, panels.first(1), lanes);
  for (std::size_t count = 2; count <= most; count *= 2) {
    SharingPanels more(weights, panels.first(count), lanes);
    if (more.excess() - best.excess() > kReordering / static_cast<double>(count)) break;
    best = std::move(more);
  }
  return best;
}

// Whether so many weights exceed half the limit that pairing them is not worth trying: of normal weights whose largest
// is 127, less than a tenth do, of uniform ones half.
bool are_hopeless(const PackedWeights& weights, std::span<const WeightPanel> panels, int lanes) {
  const WeightPanel& panel = panels.front();
  const std::int64_t count = weights.runs() * weights.run_elements() * panel.vectors * lanes;
  const std::span<const std::byte> all(weights.data(panel), static_cast<std::size_t>(count));
  const auto large = std::count_if(all.begin(), all.end(), [](std::byte w) {
    const auto value = static_cast<std::int8_t>(w);
    return value > kPairLimit / 2 || value < -kPairLimit / 2;
  });
  return large > count / 4;
}

}  // namespace

std::unique_ptr<PairedWeights> PairedWeights::make(const PackedWeights& weights, int lanes) {
  auto result = std::unique_ptr<PairedWeights>(new PairedWeights);
  std::vector<std::int8_t> all;
  for (std::int64_t group = 0; result->panels_.size() < weights.panels().size(); ++group) {
    for (std::span<const WeightPanel> panels = weights.panels(group); !panels.empty();) {
      if (are_hopeless(weights, panels, lanes)) return nullptr;
      const SharingPanels sharing = share(weights, panels, lanes);
      if (sharing.excess() > kMostRemainders) return nullptr;
      result->pairs_ += sharing.pairs();
      result->fitting_ += sharing.fitting();
      result->orders_.push_back(sharing.order(result->panels_.size()));
      for (std::size_t i = 0; i < sharing.count(); ++i) {
        result->panels_.push_back({.order = result->orders_.size() - 1, .offset = all.size()});
        sharing.append_weights(i, all);
      }
      panels = panels.subspan(sharing.count());
    }
  }
  result->memory_ = AlignedMemory(all.size());
  std::transform(all.begin(), all.end(), result->memory_.data(), [](std::int8_t w) { return std::byte(w); });
  return result;
}

std::int64_t PairedWeights::most_row_bytes() const {
  std::int64_t most = 0;
  for (const PairOrder& order : orders_) most = std::max(most, order.row_bytes);
  return most + 2 * kRowOrderBytes;
}

double PairedWeights::fitting() const {
  return pairs_ == 0 ? 1 : static_cast<double>(fitting_) / static_cast<double>(pairs_);
}

}  // namespace qconform::reference
