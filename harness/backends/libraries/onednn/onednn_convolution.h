// oneDNN's convolution primitive with its weights packed, on memory of its own.
#pragma once

#include <cstddef>
#include <dnnl.hpp>
#include <span>
#include <unordered_map>
#include <vector>

#include "harness/backends/libraries/onednn/onednn_quantization.h"
#include "harness/core/backend.h"
#include "harness/core/tensor.h"

namespace qconform::libraries::dnn {

/// The memory of the data: x in the layout asked for, w as in ONNX.
struct Data {
  std::span<std::byte> x, w;
};

/// The library chooses the layouts of x and y, unless channels come last: then it takes them where they are.
class PackedConvolution {
 public:
  /// `engine`, `stream` and the data's memory outlive it. Throws dnnl::error for what the library does not take.
  PackedConvolution(const dnnl::engine& engine, dnnl::stream& stream, const Convolution& node,
                    Quantization quantization, const Data& data, const RunSetting& setting);

  /// Makes run() write to `y` instead of y()'s memory: bytes for y in the layout asked for.
  void write_to(std::span<std::byte> y);

  /// Computes y() from x, in the layout asked for. Throws dnnl::error.
  void run();

  [[nodiscard]] const RunSetting& setting() const { return setting_; }
  [[nodiscard]] std::span<std::byte> y() const { return bytes_of(y_given_); }
  [[nodiscard]] const std::vector<std::int64_t>& y_shape() const { return y_shape_; }
  [[nodiscard]] ElementType y_type() const { return y_type_; }

 private:
  static std::span<std::byte> bytes_of(const dnnl::memory& memory);
  void pack(const dnnl::memory::desc& plain, std::span<std::byte> w);
  void place_tensors(std::span<std::byte> x);

  const dnnl::engine& engine_;
  dnnl::stream& stream_;
  Quantization quantization_;
  RunSetting setting_;
  ElementType y_type_;
  std::vector<std::int64_t> y_shape_;
  dnnl::memory::desc x_plain_;
  dnnl::memory::desc y_plain_;
  dnnl::convolution_forward::primitive_desc chosen_;
  dnnl::convolution_forward convolution_;
  dnnl::memory w_;
  dnnl::memory x_given_, x_used_;
  dnnl::memory y_given_, y_used_;
  dnnl::reorder reorder_x_;
  dnnl::reorder reorder_y_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace qconform::libraries::dnn
