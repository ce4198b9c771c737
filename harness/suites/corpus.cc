#include "harness/suites/corpus.h"

#include <algorithm>
#include <system_error>

#include "harness/forms/directml/description.h"
#include "harness/forms/directml/lower.h"
#include "harness/forms/json/case_json.h"
#include "harness/graphs/node_operators.h"
#include "harness/model/operator.h"
#include "harness/onnx/protobuf_file.h"

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

Result<std::unique_ptr<CorpusSuite>> CorpusSuite::open(std::string name, const fs::path& path) {
  QCONFORM_ASSIGN(auto files, case_files_at(path));
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

}  // namespace qconform
