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
#include "harness/suites/model_nodes.h"

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

/// Whether it is in QDQ form: nothing else tells a quantized graph from any other.
bool is_quantized_graph(const onnx::GraphProto& graph) {
  return std::any_of(graph.node().begin(), graph.node().end(), [](const onnx::NodeProto& node) {
    return node.op_type() == "QuantizeLinear" || node.op_type() == "DequantizeLinear";
  });
}

/// The operator of the first node with an attribute that a case cannot hold, such as Constant's tensor; empty if there
/// is none.
std::string operator_beyond_cases(const onnx::GraphProto& graph) {
  const auto found = std::find_if(graph.node().begin(), graph.node().end(),
                                  [](const onnx::NodeProto& node) { return !attributes_of(node).has_value(); });
  return found == graph.node().end() ? "" : printable(operator_name(found->domain(), found->op_type()));
}

/// Why the model gives no case; empty when it gives some.
std::string reason_to_skip(const onnx::ModelProto& model, const std::vector<fs::path>& data_sets) {
  if (model.graph().node_size() == 0) return "no node";
  const bool is_graph = model.graph().node_size() > 1;
  if (is_graph && !is_quantized_graph(model.graph()))
    return "several nodes without QuantizeLinear and DequantizeLinear";
  if (const std::string op = is_graph ? operator_beyond_cases(model.graph()) : ""; !op.empty()) {
    return "an attribute that a case cannot hold: " + op;
  }
  const onnx::NodeProto& node = model.graph().node(0);
  const bool is_known = is_graph || find_operator(node.domain(), node.op_type()) != nullptr ||
                        is_quantized_graph_operator(node.domain(), node.op_type());
  if (!is_known) {
    const char* const why =
        has_quantized_name(node.op_type()) ? "operator that qconform does not test: " : "not quantized: ";
    return why + printable(operator_name(node.domain(), node.op_type()));
  }
  return data_sets.empty() ? "no data set: " + node.op_type() : "";
}

/// "/1" and so on, as case_from_data_set numbers them.
std::string id_below(const fs::path& root, const fs::path& folder, std::uint64_t data_set) {
  std::error_code error;
  const fs::path below = folder == root ? fs::canonical(root, error).filename() : folder.lexically_relative(root);
  return below.generic_string() + (data_set == 0 ? "" : "/" + std::to_string(data_set));
}

}  // namespace

Result<std::unique_ptr<OnnxFolderSuite>> OnnxFolderSuite::open(const fs::path& root) {
  std::error_code error;
  if (!fs::is_directory(root, error)) return fail(root.string(), "no such folder");
  std::vector<fs::path> folders;
  QCONFORM_TRY(collect(root, 0, folders));
  if (folders.empty()) return fail(root.string(), "holds no backend tests (folders with a model.onnx)");
  std::sort(folders.begin(), folders.end(),
            [](const fs::path& a, const fs::path& b) { return a.generic_string() < b.generic_string(); });
  return std::unique_ptr<OnnxFolderSuite>(new OnnxFolderSuite(root, std::move(folders)));
}

Result<void> OnnxFolderSuite::load(const fs::path& folder) {
  onnx::ModelProto model;
  QCONFORM_TRY(read_model(folder / "model.onnx", model));
  const std::vector<fs::path> data_sets = data_sets_of(folder);
  if (const std::string reason = reason_to_skip(model, data_sets); !reason.empty()) {
    ++skipped_[reason];
    return {};
  }
  const bool ours = std::any_of(model.metadata_props().begin(), model.metadata_props().end(),
                                [](const auto& entry) { return entry.key() == "qconform.id"; });
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

Result<std::optional<Case>> OnnxFolderSuite::next() {
  while (next_case_ == cases_.size()) {
    cases_.clear();
    next_case_ = 0;
    if (next_folder_ == folders_.size()) return std::optional<Case>();
    if (const auto loaded = load(folders_[next_folder_++]); !loaded) {
      next_folder_ = folders_.size();
      cases_.clear();
      return tl::unexpected(loaded.error());
    }
  }
  return std::optional<Case>(std::move(cases_[next_case_++]));
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
