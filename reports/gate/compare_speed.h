// Whether a backend became slower, beyond what its measurements vary by.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "reports/gate/change.h"

namespace qconform::gate {

/// One backend on one layer.
struct LayerTime {
  std::string backend;
  std::string verdict;
  std::string setting;         ///< the layout and threads that it was given: "nhwc, 4 threads"
  bool is_right = false;       ///< timed, with every value right
  std::vector<double> rounds;  ///< seconds, in the same order for every backend of the layer
};

struct SpeedLayer {
  std::string name;  ///< with its set: "resnet50/conv1"
  std::vector<LayerTime> times;

  [[nodiscard]] const LayerTime* of(const std::string& backend) const;
};

struct SpeedBackend {
  std::string name;
  std::string version;
};

struct Speeds {
  std::string cpu;                     ///< speeds of different ones are not compared
  std::string setting;                 ///< layout and threads that were asked for
  std::vector<SpeedBackend> backends;  ///< the first is the one that the gate is about
  std::vector<SpeedLayer> layers;
};

/// Errors name the JSON path.
[[nodiscard]] Result<Speeds> read_speeds(std::string_view text);
[[nodiscard]] Result<Speeds> load_speeds(const std::filesystem::path& file);

/// Rounds that a layer needs on each side: of fewer, resampling says nothing.
inline constexpr std::size_t kLeastRounds = 5;
/// A change counts when all but this share of the bootstrap's resamples lie beyond the threshold. With hundreds of
/// layers, 1 in 20 would be met by chance every time.
inline constexpr double kOutside = 0.001;

/// Compares the first backend of both: on each layer, its speed relative to every other backend that both
/// measured at the same version, so that what slows the machine down slows both. It became slower on a layer where
/// relative to each of them the speed fell by more than `slower` (0.05 stands for 5 %), and so did all but kOutside
/// of the resamples; so for the mean over all layers. A layer that is not measured any more, or not computed
/// rightly, is worse too. Other CPUs, other settings and nothing to compare with are errors.
[[nodiscard]] Result<std::vector<Change>> compare_speed(const Speeds& before, const Speeds& now, double slower);

}  // namespace qconform::gate
