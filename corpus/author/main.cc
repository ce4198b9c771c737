// qconform_corpus_author: writes the corpus, or checks that it is what would be written.
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "corpus/author/topics.h"
#include "harness/core/file.h"
#include "harness/core/limits.h"
#include "harness/json/case_json.h"

namespace qconform::author {
namespace {

namespace fs = std::filesystem;

constexpr int kDrift = 1;
constexpr int kMisuse = 2;

constexpr const char* kUsage =
    "usage: qconform_corpus_author --out DIR     write the corpus' files below DIR\n"
    "       qconform_corpus_author --check DIR   compare them with what would be written\n"
    "example: qconform_corpus_author --out corpus\n";

Topics all_topics() {
  Topics topics;
  for (const auto& write :
       {write_padding, write_auto_pad, write_windows, write_zero_points, write_empty, write_tails, write_accumulation,
        write_geometry_refusals, write_input_refusals, write_rounding, write_near_ties, write_bias, write_scales,
        write_quantize_linear, write_dequantize_linear}) {
    write(topics);
  }
  return topics;
}

int report_problems(const Topics& topics) {
  int problems = 0;
  for (const Topic& topic : topics) {
    for (const std::string& problem : topic.problems()) {
      std::fprintf(stderr, "%s\n", problem.c_str());
      ++problems;
    }
  }
  return problems;
}

bool write_topic(const Topic& topic, const fs::path& root) {
  const fs::path file = root / topic.path();
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const Result<void> saved = save_cases(file, topic.cases());
  if (!saved) std::fprintf(stderr, "%s\n", saved.error().text().c_str());
  return saved.has_value();
}

bool check_topic(const Topic& topic, const fs::path& root) {
  const Result<std::string> present = read_file(root / topic.path(), limits::kJsonFileBytes);
  if (!present) {
    std::fprintf(stderr, "%s\n", present.error().text().c_str());
    return false;
  }
  if (*present == cases_json(topic.cases())) return true;
  std::fprintf(stderr, "%s: differs from what the author tool writes; run qconform_corpus_author --out\n",
               topic.path().c_str());
  return false;
}

// Case files in the operators' folders that no topic writes: left behind by a renamed one.
bool check_no_other_files(const Topics& topics, const fs::path& root) {
  std::set<std::string> written;
  std::set<std::string> folders;
  for (const Topic& topic : topics) {
    written.insert(topic.path());
    folders.insert(topic.path().substr(0, topic.path().find('/')));
  }
  bool good = true;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(root / folder, error)) {
      const std::string path = folder + "/" + entry.path().filename().string();
      if (written.count(path) != 0) continue;
      std::fprintf(stderr, "%s: no topic of the author tool writes this file\n", path.c_str());
      good = false;
    }
  }
  return good;
}

int run(std::string_view mode, const fs::path& root) {
  const Topics topics = all_topics();
  if (report_problems(topics) != 0) return kDrift;
  bool good = true;
  std::size_t cases = 0;
  for (const Topic& topic : topics) {
    good = (mode == "--out" ? write_topic(topic, root) : check_topic(topic, root)) && good;
    cases += topic.cases().size();
  }
  good = check_no_other_files(topics, root) && good;
  std::printf("%zu files, %zu vectors\n", topics.size(), cases);
  return good ? 0 : kDrift;
}

}  // namespace
}  // namespace qconform::author

int main(int argc, char** argv) {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  if (mode == "--out" || mode == "--check") return qconform::author::run(mode, argv[2]);
  const bool help = argc == 2 && std::string_view(argv[1]) == "--help";
  std::fputs(qconform::author::kUsage, help ? stdout : stderr);
  return help ? 0 : qconform::author::kMisuse;
}
