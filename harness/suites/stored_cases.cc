#include "harness/suites/stored_cases.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/forms/directml/description.h"
#include "harness/forms/json/case_json.h"
#include "harness/graphs/case_graph.h"
#include "harness/graphs/node_lowering.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf.h"
#include "harness/suites/onnx_model.h"

namespace qconform {
namespace {

namespace fs = std::filesystem;

bool is_case_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".json") && !name.ends_with(".schema.json") && !name.starts_with(".");
}

Result<std::vector<Case>> load(const fs::path& file) {
  return file.filename().string().ends_with(".dml.json") ? DirectMlSuite::load(file) : load_cases(file);
}

Result<std::vector<fs::path>> case_files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  const fs::recursive_directory_iterator end;
  for (; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (is_case_file(entry->path()) && !entry->is_directory(ignored)) files.push_back(entry->path());
  }
  if (error) return fail(folder.string(), "cannot be read: " + error.message());
  if (files.empty()) return fail(folder.string(), "holds no case files (*.json)");
  // By text and not by fs::path, whose order treats separators apart from other characters.
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return a.generic_string() < b.generic_string(); });
  return files;
}

}  // namespace

Result<std::vector<fs::path>> case_files_at(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return fail(path.string(), "no such file or folder");
  if (!fs::is_directory(status)) return std::vector{path};
  return case_files_below(path);
}

Result<std::unique_ptr<CorpusSuite>> CorpusSuite::open(std::string name, const fs::path& path,
                                                       std::string_view skipped) {
  QCONFORM_ASSIGN(auto files, case_files_at(path));
  if (!skipped.empty()) {
    std::erase_if(files, [folder = path / skipped](const fs::path& file) { return file.parent_path() == folder; });
  }
  std::error_code error;
  const fs::path root = fs::is_directory(path, error) ? path : path.parent_path();
  return std::unique_ptr<CorpusSuite>(new CorpusSuite(std::move(name), root, std::move(files)));
}

Result<std::optional<Case>> CorpusSuite::next() {
  while (true) {
    QCONFORM_ASSIGN(auto test_case, next_of_any_operator());
    if (!test_case || check_operator(*test_case)) return test_case;
    const Node& node = test_case->node();
    const bool is_in_graphs = lowering::find_node_operator(node.op_type, kNewestOpset, node.domain) != nullptr;
    ++skipped_[(is_in_graphs ? "operator that is judged in graphs alone: " : "unknown operator: ") +
               printable(operator_name(*test_case))];
  }
}

Result<std::optional<Case>> CorpusSuite::next_of_any_operator() {
  while (next_case_ == cases_.size()) {
    if (next_file_ == files_.size()) return std::optional<Case>();
    const fs::path& file = files_[next_file_++];
    Result<std::vector<Case>> cases = load(file);
    if (!cases) {
      next_file_ = files_.size();
      cases_.clear();
      next_case_ = 0;
      return tl::unexpected<Error>(cases.error());
    }
    cases_ = std::move(*cases);
    next_case_ = 0;
  }
  Case result = std::move(cases_[next_case_]);
  if (result.provenance == Provenance{}) {
    const fs::path& file = files_[next_file_ - 1];
    result.provenance.source = file.lexically_relative(root_).generic_string();
    result.provenance.index = next_case_;
  }
  ++next_case_;
  return result;
}

Result<std::vector<Case>> DirectMlSuite::load(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(const auto descriptions, directml::load_descriptions(path));
  std::vector<Case> cases;
  for (std::size_t i = 0; i < descriptions.size(); ++i) {
    QCONFORM_ASSIGN(auto lowered, in_context(path.string(), directml::lower(descriptions[i])));
    if (lowered.id.empty()) {
      lowered.id = path.stem().string() + (descriptions.size() == 1 ? "" : "-" + std::to_string(i));
    }
    cases.push_back(std::move(lowered));
  }
  return cases;
}

Result<std::unique_ptr<DirectMlSuite>> DirectMlSuite::open(const std::filesystem::path& path) {
  QCONFORM_ASSIGN(auto cases, load(path));
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].provenance = {path.filename().string(), 0, i};
  return std::unique_ptr<DirectMlSuite>(new DirectMlSuite("dml:" + path.string(), std::move(cases)));
}

Result<std::optional<Case>> DirectMlSuite::next() {
  if (next_case_ == cases_.size()) return std::optional<Case>();
  return std::move(cases_[next_case_++]);
}

namespace {

Result<void> collect(const fs::path& folder, int depth, std::vector<fs::path>& found) {
  std::error_code error;
  if (fs::exists(folder / "model.onnx", error)) {
    found.push_back(folder);
    return {};
  }
  if (depth == OnnxFolderSuite::kMaxDepth) return {};
  fs::directory_iterator entry(folder, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored)) continue;
    QCONFORM_TRY(collect(entry->path(), depth + 1, found));
  }
  if (error) return fail(folder.string(), "cannot be read: " + error.message());
  return {};
}

bool has_quantized_node(const onnx::GraphProto& graph) {
  return std::any_of(graph.node().begin(), graph.node().end(),
                     [](const onnx::NodeProto& node) { return has_quantized_name(node.op_type()); });
}

bool is_ours(const onnx::ModelProto& model) {
  return std::any_of(model.metadata_props().begin(), model.metadata_props().end(),
                     [](const auto& entry) { return entry.key() == "qconform.id"; });
}

/// Whether the nodes can be those of one case: in QDQ form, without attributes such as Constant's tensor or a body. A
/// longer graph is cut, for its sets grow from node to node.
bool may_be_one_case(const onnx::ModelProto& model) {
  constexpr int kMostNodes = 16;
  const onnx::GraphProto& graph = model.graph();
  if (graph.node_size() == 1 || is_ours(model)) return true;
  if (graph.node_size() > kMostNodes) return false;
  const bool is_in_qdq_form = std::any_of(graph.node().begin(), graph.node().end(), [](const onnx::NodeProto& node) {
    return node.op_type() == "QuantizeLinear" || node.op_type() == "DequantizeLinear";
  });
  return is_in_qdq_form && std::all_of(graph.node().begin(), graph.node().end(),
                                       [](const onnx::NodeProto& node) { return attributes_of(node).has_value(); });
}

/// Why the model gives no case; empty when it gives some.
std::string reason_to_skip(const onnx::ModelProto& model, const std::vector<fs::path>& data_sets) {
  if (model.graph().node_size() == 0) return "no node";
  if (model.graph().node_size() > 1) {
    return has_quantized_node(model.graph()) ? "" : "several nodes, none of them quantized";
  }
  const onnx::NodeProto& node = model.graph().node(0);
  const bool is_known = find_operator(node.domain(), node.op_type()) != nullptr ||
                        is_quantized_graph_operator(node.domain(), node.op_type());
  if (!is_known) {
    const char* const why =
        has_quantized_name(node.op_type()) ? "operator that qconform does not test: " : "not quantized: ";
    return why + printable(operator_name(node.domain(), node.op_type()));
  }
  return data_sets.empty() ? "no data set: " + node.op_type() : "";
}

/// "/1" and so on behind the folder's path.
std::string id_below(const fs::path& root, const fs::path& folder, std::uint64_t data_set) {
  std::error_code error;
  const fs::path below = folder == root ? fs::canonical(root, error).filename() : folder.lexically_relative(root);
  return below.generic_string() + (data_set == 0 ? "" : "/" + std::to_string(data_set));
}

}  // namespace

Result<std::unique_ptr<OnnxFolderSuite>> OnnxFolderSuite::open(const fs::path& root, std::uint64_t seed) {
  std::error_code error;
  if (!fs::is_directory(root, error)) return fail(root.string(), "no such folder");
  std::vector<fs::path> folders;
  QCONFORM_TRY(collect(root, 0, folders));
  if (folders.empty()) return fail(root.string(), "holds no backend tests (folders with a model.onnx)");
  std::sort(folders.begin(), folders.end(),
            [](const fs::path& a, const fs::path& b) { return a.generic_string() < b.generic_string(); });
  return std::unique_ptr<OnnxFolderSuite>(new OnnxFolderSuite(root, std::move(folders), seed));
}

Result<void> OnnxFolderSuite::add_cases(const onnx::ModelProto& model, const fs::path& folder,
                                        const std::vector<fs::path>& data_sets) {
  const bool ours = is_ours(model);
  for (const fs::path& data_set : data_sets) {
    QCONFORM_ASSIGN(auto one, in_context(folder.string(), case_from_data_set(model, folder, data_set)));
    if (!ours) {
      one.id = id_below(root_, folder, one.provenance.index);
      one.provenance.source = name();
    }
    cases_.push_back(std::move(one));
  }
  return {};
}

Result<void> OnnxFolderSuite::load(const fs::path& folder) {
  onnx::ModelProto model;
  QCONFORM_TRY(read_model(folder / "model.onnx", model));
  const std::vector<fs::path> data_sets = data_sets_of(folder);
  if (const std::string reason = reason_to_skip(model, data_sets); !reason.empty()) {
    ++skipped_[reason];
    return {};
  }
  if (may_be_one_case(model) && !data_sets.empty()) return add_cases(model, folder, data_sets);
  if (data_sets.empty()) models_.push_back({folder / "model.onnx", {}, id_below(root_, folder, 0)});
  for (std::size_t i = 0; i < data_sets.size(); ++i) {
    models_.push_back({folder / "model.onnx", data_sets[i], id_below(root_, folder, i)});
  }
  return {};
}

void OnnxFolderSuite::cut_into_units() {
  const WholeModel& model = models_.front();
  ModelOptions options{.activations = ModelOptions::Activations::computed_if_possible,
                       .inputs = input_files(model.data_set),
                       .keeps_units = true};
  auto units = OnnxModelSuite::open(model.file, seed_, options);
  if (units) {
    units_ = std::move(*units);
    return;
  }
  ++skipped_["a model that cannot be cut into units: " + printable(units.error().text())];
  models_.pop_front();
}

Result<std::optional<Case>> OnnxFolderSuite::next_unit() {
  QCONFORM_ASSIGN(auto unit, units_->next());
  if (unit) {
    unit->id = models_.front().id + "/" + unit->id;
    return unit;
  }
  for (const auto& [reason, count] : units_->skipped()) skipped_[reason] += count;
  units_.reset();
  models_.pop_front();
  return unit;
}

Result<std::optional<Case>> OnnxFolderSuite::next() {
  while (true) {
    if (next_case_ < cases_.size()) return std::optional<Case>(std::move(cases_[next_case_++]));
    cases_.clear();
    next_case_ = 0;
    Result<std::optional<Case>> unit = std::optional<Case>();
    Result<void> loaded;
    if (units_ != nullptr) {
      unit = next_unit();
    } else if (!models_.empty()) {
      cut_into_units();
    } else if (next_folder_ < folders_.size()) {
      loaded = load(folders_[next_folder_++]);
    } else {
      return std::optional<Case>();
    }
    if (unit && loaded) {
      if (*unit) return unit;
      continue;
    }
    next_folder_ = folders_.size();
    cases_.clear();
    models_.clear();
    units_.reset();
    return tl::unexpected(unit ? loaded.error() : unit.error());
  }
}

namespace {

class CountedSuite final : public Suite {
 public:
  CountedSuite(std::unique_ptr<Suite> source, NewerOpsets& newer) : source_(std::move(source)), newer_(newer) {}

  [[nodiscard]] std::string name() const override { return source_->name(); }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    auto result = source_->next();
    if (result && *result) newer_.add(**result);
    return result;
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return source_->size(); }
  [[nodiscard]] const SkippedCounts& skipped() const override { return source_->skipped(); }
  [[nodiscard]] std::vector<CombinationCoverage> coverage() const override { return source_->coverage(); }
  [[nodiscard]] std::vector<CombinationCoverage> coverage_of(const std::vector<bool>& chosen) const override {
    return source_->coverage_of(chosen);
  }
  [[nodiscard]] std::optional<NodeCoverage> node_coverage(const std::vector<std::string>* why_not) const override {
    return source_->node_coverage(why_not);
  }

 private:
  std::unique_ptr<Suite> source_;
  NewerOpsets& newer_;
};

}  // namespace

void NewerOpsets::add(const Case& test_case) {
  const Operator* known = operator_of(test_case);
  if (known == nullptr || test_case.node().opset_version <= kNewestOpset) return;
  ++cases_;
  opsets_.insert(test_case.node().opset_version);
  versions_[std::string(known->name)] = known->version_at(test_case.node().opset_version);
}

std::string NewerOpsets::text() const {
  if (cases_ == 0) return {};
  std::vector<std::string> versions;
  for (const auto& [name, version] : versions_) versions.push_back(fmt::format("{} {}", name, version));
  return fmt::format("{} case{} opset{} {}, newer than {}, the newest known: judged by {}", cases_,
                     cases_ == 1 ? " has" : "s have", opsets_.size() == 1 ? "" : "s", fmt::join(opsets_, ", "),
                     kNewestOpset, fmt::join(versions, ", "));
}

std::unique_ptr<Suite> counted(std::unique_ptr<Suite> source, NewerOpsets& newer) {
  return std::make_unique<CountedSuite>(std::move(source), newer);
}

}  // namespace qconform
