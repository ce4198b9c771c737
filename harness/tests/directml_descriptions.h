// Descriptions for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "harness/forms/directml/description.h"

namespace qconform::directml {

/// A valid description with every member in use.
inline constexpr const char* kValid = R"({
  "InputTensor": {"DataType": "UINT8", "Sizes": [1, 2, 3, 3], "fill": 7},
  "InputScaleTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1], "data": [0.5]},
  "InputZeroPointTensor": {"DataType": "UINT8", "Sizes": [1, 1, 1, 1], "data": [3]},
  "FilterTensor": {"DataType": "INT8", "Sizes": [4, 1, 2, 2], "fill": -2},
  "FilterScaleTensor": {"DataType": "FLOAT32", "Sizes": [1, 4, 1, 1], "data": [1, 2, 3, 4]},
  "FilterZeroPointTensor": {"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [1]},
  "BiasTensor": {"DataType": "INT32", "Sizes": [1, 4, 1, 1], "data": [1, -2, 3, -4]},
  "OutputScaleTensor": {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1], "data": [2]},
  "OutputZeroPointTensor": {"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [-5]},
  "OutputTensor": {"DataType": "INT8", "Sizes": [1, 4, 2, 2]},
  "DimensionCount": 2, "Strides": [1, 1], "Dilations": [1, 1],
  "StartPadding": [0, 0], "EndPadding": [0, 0], "GroupCount": 2
})";

[[nodiscard]] inline std::vector<std::filesystem::path> sample_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(QCONFORM_DIRECTML_SAMPLES)) {
    files.push_back(entry.path());
  }
  return files;
}

/// Every description of the samples.
[[nodiscard]] inline std::vector<Description> samples() {
  std::vector<Description> all;
  for (const std::filesystem::path& file : sample_files()) {
    const Result<std::vector<Description>> read = load_descriptions(file);
    EXPECT_TRUE(read) << read.error().text();
    if (read) all.insert(all.end(), read->begin(), read->end());
  }
  return all;
}

}  // namespace qconform::directml
