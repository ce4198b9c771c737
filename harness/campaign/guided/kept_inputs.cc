#include "harness/campaign/guided/kept_inputs.h"

#include <algorithm>
#include <utility>

#include "harness/base/file.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/onnx/case_model.h"

namespace qconform::guided {

namespace fs = std::filesystem;

class KeptInputs::FileSuite final : public Suite {
 public:
  FileSuite(KeptInputs& inputs, std::vector<fs::path> files) : inputs_(inputs), files_(std::move(files)) {}

  [[nodiscard]] std::string name() const override { return "libfuzzer"; }
  [[nodiscard]] Result<std::optional<Case>> next() override {
    while (next_ < files_.size()) {
      const fs::path& file = files_[next_++];
      // The engine replaces inputs by smaller ones.
      const auto bytes = read_file(file, kLargest);
      if (!bytes) continue;
      auto test_case = case_of_input(*bytes);
      if (!test_case) {
        ++skipped_["not a model of one small quantized node"];
        continue;
      }
      test_case->id = "libfuzzer-" + file.filename().string();
      test_case->provenance = {"libfuzzer", inputs_.seed_, inputs_.next_index_};
      inputs_.cases_.emplace(inputs_.next_index_++, *test_case);
      return std::optional(std::move(*test_case));
    }
    return std::nullopt;
  }

 private:
  KeptInputs& inputs_;
  std::vector<fs::path> files_;
  std::size_t next_ = 0;
};

std::vector<fs::path> KeptInputs::fresh(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".part" || !known_.insert(at->path()).second) continue;
    files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::unique_ptr<Suite> KeptInputs::source(std::vector<fs::path> files) {
  return std::make_unique<FileSuite>(*this, std::move(files));
}

void KeptInputs::forget_all_but(const std::set<std::uint64_t>& indices) {
  std::erase_if(cases_, [&](const auto& entry) { return !indices.contains(entry.first); });
}

Result<Case> case_of_input(std::string_view bytes) {
  QCONFORM_ASSIGN(auto test_case, case_from_model(bytes));
  QCONFORM_TRY(check_operator(test_case));
  test_case = computation_of(test_case);
  test_case.id = "fuzz";
  if (!is_small(test_case, classify(test_case))) return fail("", "too large to be judged at once");
  return test_case;
}

}  // namespace qconform::guided
