// qconform_corpus_author: writes the corpus, or checks that it is what would be written.
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "corpus/author/description_topic.h"
#include "corpus/author/topics.h"
#include "harness/base/file.h"
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
        write_quantize_linear, write_quantize_precision, write_quantize_types, write_dequantize_linear,
        write_dequantize_types, write_linear_layout}) {
    write(topics);
  }
  return topics;
}

DescriptionTopics all_description_topics() {
  DescriptionTopics topics;
  for (const auto& write : {write_directml, write_directml_refusals}) write(topics);
  return topics;
}

// What a topic comes to.
struct CorpusFile {
  std::string path;  // relative to the corpus
  std::string text;
  std::size_t vectors;
  std::vector<std::string> problems;
};

std::vector<CorpusFile> all_files() {
  std::vector<CorpusFile> files;
  for (const Topic& topic : all_topics()) {
    files.push_back({topic.path(), cases_json(topic.cases()), topic.cases().size(), topic.problems()});
  }
  for (const DescriptionTopic& topic : all_description_topics()) {
    files.push_back({topic.path(), topic.text(), topic.vectors(), topic.problems()});
  }
  return files;
}

int report_problems(const std::vector<CorpusFile>& files) {
  int problems = 0;
  for (const CorpusFile& file : files) {
    for (const std::string& problem : file.problems) {
      std::fprintf(stderr, "%s\n", problem.c_str());
      ++problems;
    }
  }
  return problems;
}

bool write_corpus_file(const CorpusFile& written, const fs::path& root) {
  const fs::path file = root / written.path;
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const Result<void> saved = write_file(file, written.text);
  if (!saved) std::fprintf(stderr, "%s\n", saved.error().text().c_str());
  return saved.has_value();
}

bool check_corpus_file(const CorpusFile& written, const fs::path& root) {
  const Result<std::string> present = read_file(root / written.path, limits::kJsonFileBytes);
  if (!present) {
    std::fprintf(stderr, "%s\n", present.error().text().c_str());
    return false;
  }
  if (*present == written.text) return true;
  std::fprintf(stderr, "%s: differs from what the author tool writes; run qconform_corpus_author --out\n",
               written.path.c_str());
  return false;
}

// Case files in the operators' folders that no topic writes: left behind by a renamed one.
bool check_no_other_files(const std::vector<CorpusFile>& files, const fs::path& root) {
  std::set<std::string> written;
  std::set<std::string> folders;
  for (const CorpusFile& file : files) {
    written.insert(file.path);
    folders.insert(file.path.substr(0, file.path.find('/')));
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
  const std::vector<CorpusFile> files = all_files();
  if (report_problems(files) != 0) return kDrift;
  bool good = true;
  std::size_t vectors = 0;
  for (const CorpusFile& file : files) {
    good = (mode == "--out" ? write_corpus_file(file, root) : check_corpus_file(file, root)) && good;
    vectors += file.vectors;
  }
  good = check_no_other_files(files, root) && good;
  std::printf("%zu files, %zu vectors\n", files.size(), vectors);
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
