#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "harness/base/file.h"
#include "harness/graphs/case_graph.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf.h"

namespace qconform {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDataSetPrefix = "test_data_set_";

std::string input_file(int index) {
  return "input_" + std::to_string(index) + ".pb";
}

std::string output_file(std::size_t index) {
  return "output_" + std::to_string(index) + ".pb";
}

std::optional<std::uint64_t> data_set_number(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (name.compare(0, kDataSetPrefix.size(), kDataSetPrefix) != 0) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + kDataSetPrefix.size(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

Result<Tensor> read_tensor_file(const fs::path& file, const ExternalFolder& external) {
  onnx::TensorProto proto;
  QCONFORM_TRY(read_message(file, proto));
  return in_context(file.string(), tensor_from_proto(proto, external));
}

/// The file of each graph input, by the name of the input.
std::map<std::string, fs::path> files_by_name(const onnx::GraphProto& graph, const fs::path& data_set) {
  const std::vector<fs::path> inputs = input_files(data_set);
  std::map<std::string, fs::path> files;
  auto next = inputs.begin();
  for (const std::string& name : fed_names(graph, inputs.size())) files.emplace(name, *next++);
  return files;
}

Result<void> write_tensor_file(const Tensor& tensor, const std::string& name, const fs::path& file) {
  onnx::TensorProto proto;
  write_tensor(tensor, name, proto);
  QCONFORM_ASSIGN(const auto bytes, in_context(file.string(), message_bytes(proto)));
  return write_file(file, bytes);
}

/// Writes the tensors that the case is fed to files, and those that a graph holds to initializers of the model.
Result<void> write_inputs(const Case& test_case, const fs::path& data_set, onnx::GraphProto& graph) {
  const std::vector<std::string> names = input_names(test_case);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!test_case.inputs[i]) continue;
    const Tensor& tensor = *test_case.inputs[i];
    if (is_judged_as_graph(test_case) && i >= test_case.fed_inputs) {
      write_tensor(tensor, names[i], *graph.add_initializer());
      continue;
    }
    const fs::path file = data_set / input_file(graph.input_size());
    write_value_info(names[i], tensor.type, tensor.shape, *graph.add_input());
    QCONFORM_TRY(write_tensor_file(tensor, names[i], file));
  }
  return {};
}

/// A folder written over another must not keep that one's files.
Result<fs::path> empty_data_set(const fs::path& folder) {
  const fs::path data_set = folder / (std::string(kDataSetPrefix) + "0");
  std::error_code error;
  fs::create_directories(data_set, error);
  if (error) return fail(data_set.string(), error.message());
  for (int i = 0; fs::remove(data_set / input_file(i), error); ++i) continue;
  for (std::size_t i = 0; fs::remove(data_set / output_file(i), error); ++i) continue;
  return data_set;
}

}  // namespace

Result<void> write_case_folder(const Case& test_case, const fs::path& folder, std::span<const Tensor> computed_outputs,
                               const OutputTypes& outputs) {
  QCONFORM_ASSIGN(const auto data_set, empty_data_set(folder));
  onnx::ModelProto model;
  QCONFORM_TRY(write_graph(test_case, outputs, model));
  QCONFORM_TRY(write_inputs(test_case, data_set, *model.mutable_graph()));
  const bool is_recorded = !test_case.recorded_outputs.empty();
  const std::span<const Tensor> held = is_recorded ? std::span(test_case.recorded_outputs) : computed_outputs;
  const std::vector<std::string> names = output_names(test_case);
  for (std::size_t i = 0; i < held.size(); ++i) {
    QCONFORM_TRY(write_tensor_file(held[i], names[i], data_set / output_file(i)));
  }
  const OutputOrigin origin = is_recorded     ? OutputOrigin::recorded
                              : !held.empty() ? OutputOrigin::computed
                                              : OutputOrigin::none;
  write_defect_outputs(test_case, *model.mutable_graph());
  write_metadata(test_case, origin, model);
  QCONFORM_ASSIGN(const auto bytes, in_context(folder.string(), message_bytes(model)));
  return write_file(folder / "model.onnx", bytes);
}

std::vector<fs::path> input_files(const fs::path& data_set) {
  std::vector<fs::path> files;
  std::error_code error;
  for (int i = 0; fs::exists(data_set / input_file(i), error); ++i) files.push_back(data_set / input_file(i));
  return files;
}

std::vector<fs::path> data_sets_of(const fs::path& folder) {
  std::vector<std::pair<std::uint64_t, fs::path>> numbered;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (const auto number = data_set_number(entry->path())) numbered.emplace_back(*number, entry->path());
  }
  std::sort(numbered.begin(), numbered.end());
  std::vector<fs::path> sorted;
  for (auto& [number, path] : numbered) sorted.push_back(std::move(path));
  return sorted;
}

Result<Case> case_from_data_set(const onnx::ModelProto& model, const fs::path& folder, const fs::path& data_set) {
  const onnx::GraphProto& graph = model.graph();
  const std::map<std::string, fs::path> files = files_by_name(graph, data_set);
  const auto lookup = [&](const std::string& name) -> Result<Tensor> {
    if (const auto file = files.find(name); file != files.end()) return read_tensor_file(file->second, folder);
    for (const onnx::TensorProto& initializer : graph.initializer()) {
      if (initializer.name() == name) return tensor_from_proto(initializer, folder);
    }
    return fail("input " + quoted_name(name), "has neither a file in " + data_set.string() + " nor an initializer");
  };
  std::set<std::string> fed;
  for (const auto& [name, file] : files) fed.insert(name);
  QCONFORM_ASSIGN(auto result, case_from_graph(model, fed, lookup));
  const auto number = data_set_number(data_set).value_or(0);
  std::error_code error;
  const std::string name = fs::canonical(folder, error).filename().string();
  result.id = number == 0 ? name : name + "/" + std::to_string(number);
  result.provenance = {"onnx:" + name, 0, number};
  QCONFORM_ASSIGN(const auto origin, read_metadata(model, result));
  QCONFORM_TRY(read_defect_outputs(graph, folder, result));
  if (origin == OutputOrigin::none || origin == OutputOrigin::computed) return result;
  for (std::size_t i = 0; i < result.output_count() && fs::exists(data_set / output_file(i), error); ++i) {
    QCONFORM_ASSIGN(auto recorded, read_tensor_file(data_set / output_file(i), folder));
    result.recorded_outputs.push_back(std::move(recorded));
  }
  QCONFORM_TRY(check_wiring(result));
  return result;
}

Result<std::vector<Case>> read_case_folder(const fs::path& folder) {
  onnx::ModelProto model;
  QCONFORM_TRY(read_model(folder / "model.onnx", model));
  const std::vector<fs::path> data_sets = data_sets_of(folder);
  if (data_sets.empty()) return fail(folder.string(), "has no test_data_set_0");
  std::vector<Case> cases;
  for (const fs::path& data_set : data_sets) {
    QCONFORM_ASSIGN(auto one, in_context(folder.string(), case_from_data_set(model, folder, data_set)));
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace qconform
