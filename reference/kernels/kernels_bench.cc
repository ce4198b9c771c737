// Benchmarks of the micro-kernels, one of each for every kernel set that this CPU runs: data in
// the first-level cache, no driver around them. items_per_second counts multiply-accumulates, or
// elements where nothing is multiplied with weights.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "reference/kernels/drivers/parallel.h"
#include "reference/kernels/kernels.h"
#include "reference/kernels/micro_kernels.h"

namespace qconform::reference {

namespace {

// Bytes that are small, so that no float of them is subnormal or NaN.
AlignedMemory memory(std::int64_t bytes) {
  AlignedMemory result(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < result.size(); ++i) result.data()[i] = static_cast<std::byte>(i * 7 % 61);
  return result;
}

std::vector<const std::byte*> rows_in(const AlignedMemory& x, std::int64_t row_bytes) {
  std::vector<const std::byte*> rows;
  for (int p = 0; p < kTilePositions; ++p) rows.push_back(x.data() + p * row_bytes);
  return rows;
}

// A tile of 48 positions and a panel of as many channels as a set takes, `depth` deep.
void multiply(benchmark::State& state, const KernelSet& set, std::int64_t depth) {
  const ConvolutionMicroKernels& micro_kernels = set.micro_kernels->convolution;
  const std::int64_t row_bytes = depth * micro_kernels.x_bytes;
  const int channels = micro_kernels.lanes * micro_kernels.max_vectors;
  const AlignedMemory x = memory(kTilePositions * row_bytes + kRowSlack);
  const AlignedMemory w = memory(channels * row_bytes);
  const std::vector<const std::byte*> rows = rows_in(x, row_bytes);
  const std::vector<std::int32_t> start(kPanelChannels);
  std::vector<std::int32_t> sums(kTilePositions * kPanelChannels);
  const std::int64_t offset = 0;
  const PanelProduct product{.rows = rows.data(),
                             .run_offsets = &offset,
                             .runs = 1,
                             .run_bytes = row_bytes,
                             .w = w.data(),
                             .start = start.data(),
                             .start_stride = 0,
                             .sums = sums.data(),
                             .sums_stride = channels,
                             .positions = 48,
                             .vectors = micro_kernels.max_vectors};
  for (auto _ : state) {
    micro_kernels.multiply(&product);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * product.positions * channels * depth);
}

// 48 positions of a block of channels, 3x3 taps.
void multiply_depthwise(benchmark::State& state, const KernelSet& set) {
  const ConvolutionMicroKernels& micro_kernels = set.micro_kernels->convolution;
  const DepthwiseBlock& block = micro_kernels.depthwise[0];
  const int groups = (9 + micro_kernels.group - 1) / micro_kernels.group;
  const std::int64_t pixel_bytes = std::int64_t{block.channels} * micro_kernels.x_bytes;
  const AlignedMemory x = memory((kTilePositions + 9) * pixel_bytes + kRowSlack);
  const AlignedMemory w = memory(groups * micro_kernels.group * pixel_bytes);
  const std::vector<const std::byte*> rows = rows_in(x, pixel_bytes);
  std::vector<std::int64_t> taps;
  for (int t = 0; t < groups * micro_kernels.group; ++t) taps.push_back(t % 9 * pixel_bytes);
  const std::vector<std::int32_t> start(kPanelChannels);
  std::vector<std::int32_t> sums(kTilePositions * kPanelChannels);
  const DepthwiseProduct product{.rows = rows.data(),
                                 .channel_offset = 0,
                                 .tap_offsets = taps.data(),
                                 .groups = groups,
                                 .w = w.data(),
                                 .start = start.data(),
                                 .sums = sums.data(),
                                 .positions = 48};
  for (auto _ : state) {
    block.multiply(&product);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * product.positions * block.channels * 9);
}

// Sums of 48 positions to bytes; results spread over the range of y, few of them near ties.
void requantize(benchmark::State& state, const KernelSet& set, RoundingProfile profile) {
  const int channels = set.micro_kernels->convolution.lanes * set.micro_kernels->convolution.max_vectors;
  std::vector<std::int32_t> sums(kTilePositions * kPanelChannels);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = static_cast<std::int32_t>(i * 2654435761U >> 12) - 400000;
  const std::vector<float> multiplier(kPanelChannels, 0.000317F);
  const std::vector<float> needs_exact_from(kPanelChannels, 0.5F - 0x1p-12F);
  const std::vector<double> exact_multiplier(kPanelChannels, static_cast<double>(0.000317F));
  const std::vector<double> wide_needs_exact_from(kPanelChannels, 0.5 - 0x1p-32);
  const RequantizeChannels parameters{
      multiplier.data(), needs_exact_from.data(), exact_multiplier.data(), wide_needs_exact_from.data(), 3, 0, 255};
  std::vector<std::uint8_t> y(kTilePositions * kPanelChannels);
  std::uint64_t needs_exact[kTilePositions];
  const RequantizeTile tile = set.micro_kernels->elementwise.requantize_tile[static_cast<std::size_t>(profile)];
  for (auto _ : state) {
    benchmark::DoNotOptimize(tile(sums.data(), channels, 48, channels, &parameters, y.data(), channels, needs_exact));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 48 * channels);
}

constexpr std::int64_t kElements = 2048;

void quantize(benchmark::State& state, const KernelSet& set) {
  const AlignedMemory x = memory(4 * kElements);
  AlignedMemory y = memory(kElements);
  const QuantizeChannel channel{.scale = 0.02F, .zero_point = 3, .lo = -3, .hi = 252};
  for (auto _ : state) {
    set.micro_kernels->elementwise.quantize[0](x.data(), kElements, &channel, y.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kElements);
}

void dequantize(benchmark::State& state, const KernelSet& set) {
  const AlignedMemory x = memory(kElements);
  AlignedMemory y = memory(4 * kElements);
  const DequantizeChannel channel{.scale = 0.02F, .zero_point = 3};
  for (auto _ : state) {
    set.micro_kernels->elementwise.dequantize[0](x.data(), kElements, &channel, y.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kElements);
}

void register_set(const KernelSet& set) {
  const auto add = [&set](const std::string& what, auto run) {
    benchmark::RegisterBenchmark((std::string(set.name) + "/" + what).c_str(),
                                 [set, run](benchmark::State& state) { run(state, set); });
  };
  for (const std::int64_t depth : {64, 256, 1024}) {
    add("multiply depth " + std::to_string(depth),
        [depth](benchmark::State& state, const KernelSet& s) { multiply(state, s, depth); });
  }
  if (set.micro_kernels->convolution.depthwise[0].channels > 0) add("depthwise 3x3", multiply_depthwise);
  if (set.micro_kernels->elementwise.requantize_tile[0] != nullptr) {
    add("requantize correctly-rounded",
        [](benchmark::State& state, const KernelSet& s) { requantize(state, s, RoundingProfile::correctly_rounded); });
    add("requantize ort-f32",
        [](benchmark::State& state, const KernelSet& s) { requantize(state, s, RoundingProfile::ort_f32); });
  }
  add("quantize float32 to uint8", quantize);
  add("dequantize uint8 to float32", dequantize);
}

void register_all() {
  for (const KernelSet& set : kernel_sets()) {
    if (set.available() && set.micro_kernels != nullptr) register_set(set);
  }
}

}  // namespace
}  // namespace qconform::reference

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  qconform::reference::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
