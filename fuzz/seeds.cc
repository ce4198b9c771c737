// Writes the seeds of every fuzz target into a folder, one folder for each: the reviewed corpus, random
// cases and DirectML samples in the form that the target reads. The same on every machine.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/sandbox/channel.h"
#include "harness/base/file.h"
#include "harness/forms/json/case_json.h"
#include "harness/model/draws/draws.h"
#include "harness/model/mutate/case_mutator.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/suites/drawn.h"
#include "harness/suites/stored_cases.h"

namespace {

namespace fs = std::filesystem;
using namespace qconform;

constexpr std::uint64_t kRandomCases = 150;
constexpr std::size_t kLargestSeed = 8192;

// Writes files 0000, 0001, ... into one target's folder.
class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) { fs::create_directories(folder_); }

  Result<void> add(std::string_view bytes) {
    if (bytes.size() > kLargestSeed) return {};
    std::string name = std::to_string(count_++);
    name.insert(0, 4 - std::min<std::size_t>(name.size(), 4), '0');
    return write_file(folder_ / name, bytes);
  }

 private:
  fs::path folder_;
  int count_ = 0;
};

struct CaseSeeds {
  explicit CaseSeeds(const fs::path& out)
      : json(out / "json_reader"),
        models(out / "onnx_reader"),
        differential(out / "differential"),
        graphs(out / "graphs"),
        messages(out / "worker_messages") {}

  Result<void> add(const Case& test_case) {
    QCONFORM_TRY(json.add(case_json(test_case)));
    QCONFORM_TRY(messages.add(message(2, test_case)));
    if (!test_case.recorded_outputs.empty()) {
      QCONFORM_TRY(messages.add(message(0, Outcome(outcome::Produced{test_case.recorded_outputs}))));
    }
    QCONFORM_ASSIGN(const auto model, case_to_model(test_case));
    QCONFORM_TRY(models.add(model));
    if (is_judged_as_graph(test_case)) QCONFORM_TRY(graphs.add(model));
    return is_small(test_case, classify(test_case)) ? differential.add(model) : Result<void>{};
  }

  // As fuzz/worker_messages.cc reads it.
  template <typename T>
  static std::string message(char kind, const T& value) {
    std::string bytes(1 + encoded_size(value), kind);
    encode(value, std::as_writable_bytes(std::span(bytes)).subspan(1));
    return bytes;
  }

  Seeds json;
  Seeds models;
  Seeds differential;
  Seeds graphs;
  Seeds messages;
};

Result<void> add_cases(const fs::path& corpus, const fs::path& out) {
  CaseSeeds seeds(out);
  QCONFORM_ASSIGN(const auto source, CorpusSuite::open("corpus", corpus));
  for (;;) {
    QCONFORM_ASSIGN(auto next, source->next());
    if (!next) break;
    QCONFORM_TRY(seeds.add(*next));
  }
  Rng rng(1);
  for (std::uint64_t i = 0; i < kRandomCases; ++i) {
    const Case drawn = random_case(1, i);
    QCONFORM_TRY(seeds.add(drawn));
    QCONFORM_TRY(seeds.add(mutate(drawn, rng)));
  }
  return {};
}

Result<void> add_descriptions(const fs::path& samples, const fs::path& out) {
  Seeds seeds(out / "dml_reader");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(samples)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    QCONFORM_ASSIGN(const auto text, read_file(file, std::int64_t{1} << 20));
    QCONFORM_TRY(seeds.add(text));
  }
  return {};
}

Result<void> add_elements(const fs::path& out) {
  Seeds seeds(out / "admissible_set");
  Rng rng(2);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::byte> bytes(32);
    rng.fill(bytes);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    QCONFORM_TRY(seeds.add(text));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s SOURCE-ROOT OUT\nWrites the seeds of every fuzz target below OUT.\n", argv[0]);
    return 2;
  }
  const fs::path root = argv[1];
  const fs::path out = argv[2];
  for (const auto& written : {add_cases(root / "corpus", out),
                              add_descriptions(root / "harness/forms/directml/samples", out), add_elements(out)}) {
    if (written) continue;
    std::fprintf(stderr, "%s\n", written.error().text().c_str());
    return 2;
  }
  return 0;
}
