// Takes a graph on the whole path of a case (graph_walk.h). The input is an ONNX model, so that every corpus entry and
// crash file opens elsewhere. The custom mutator decodes the model, changes the graph and encodes it again.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "fuzz/graph_walk.h"
#include "harness/base/bytes.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/operators/graph/graph.h"

namespace {

using namespace qconform;

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Larger graphs take long and show no more.
bool is_small(const Case& test_case) {
  std::size_t bytes = 0;
  for (const auto& input : test_case.inputs) bytes += input ? input->bytes.size() : 0;
  return bytes <= 4096 && test_case.nodes.size() <= 32;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::GraphWalk walk{{}};
  const auto test_case = case_from_model(text_of(data, size));
  if (!test_case || !is_small(*test_case)) return 0;
  Digest seed;
  seed.add(text_of(data, size));
  const std::string problem = walk.take(*test_case, seed.value());
  if (problem.empty()) return 0;
  std::fprintf(stderr, "\n%s\n", problem.c_str());
  std::abort();
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  Rng rng(seed);
  constexpr int kAttempts = 4;  // at a graph that can be written and fits
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto decoded = case_from_model(text_of(data, size));
    const bool is_graph = decoded && is_judged_as_graph(*decoded);
    Case graph = is_graph && !rng.chance(1, 64) ? std::move(*decoded) : graph_case(rng.next(), 0);
    fuzz::damage_graph(graph, rng);
    const auto model = case_to_model(graph);
    if (!model || model->size() > max_size) continue;
    std::memcpy(data, model->data(), model->size());
    return model->size();
  }
  return size;
}
