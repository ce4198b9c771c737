// What the gate compares of a benchmark (reports/render/bench_document.h): the rounds of each layer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/error.h"

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

}  // namespace qconform::gate
