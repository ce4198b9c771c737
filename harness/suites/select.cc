#include "harness/suites/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include "harness/base/text.h"
#include "harness/core/version.h"
#include "harness/forms/json/case_json.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/graph_scope.h"
#include "harness/operators/graph/graph.h"
#include "harness/suites/cache.h"
#include "harness/suites/case_line.h"
#include "harness/suites/drawn.h"
#include "harness/suites/onnx_model.h"
#include "harness/suites/stored_cases.h"
#include "harness/suites/sweep/suite.h"

namespace qconform {
namespace {

namespace fs = std::filesystem;
using Suites = std::vector<std::unique_ptr<Suite>>;

constexpr std::array kSuites{
    SuiteInfo{"conformance",
              "what `qconform run` takes by default: killers, corpus, directed, graphs (1000), sweep, sizes, "
              "neighbours and qdq"},
    SuiteInfo{"killers", "few small cases that every defect model gets wrong, on each type of data that it concerns"},
    SuiteInfo{"corpus", "hand-picked vectors with notes and rule ids, one or more for each rule"},
    SuiteInfo{"sweep", "every three classes of the operators' parameters together; --seed chooses the values"},
    SuiteInfo{
        "qdq",
        "quantized units: DequantizeLinear, a compute node, an activation, QuantizeLinear; every three classes of "
        "their parameters together; --seed chooses the values"},
    SuiteInfo{"within",
              "with `run`: cases inside what each backend takes, which is learnt; a part of conformance for those that "
              "are named and are no kernels of qconform"},
    SuiteInfo{"sizes",
              "each extent alone across the sizes at which kernels switch to other code; --seed chooses the rest"},
    SuiteInfo{"neighbours", "nodes of which each differs from the one before in one thing; --seed chooses them"},
    SuiteInfo{"directed", "cases solved for ties, saturation, overflow and other corner cases; --seed, --cases (4000)"},
    SuiteInfo{"random", "random valid cases of every operator; --seed and --cases (10000) choose them"},
    SuiteInfo{
        "graphs",
        "random quantized graphs: DequantizeLinear, one to eight compute nodes, QuantizeLinear; --seed and --cases "
        "(10000)"},
    SuiteInfo{"fuzz", "what `qconform fuzz` draws, the same cases for the same seed; --seed and --cases (10000)"},
    SuiteInfo{"relations", "random cases, and those that must agree with them (docs/relations.md); --seed and --cases"},
    SuiteInfo{"relations:SUITE", "the cases of another suite, and those that must agree with them"},
    SuiteInfo{"case:LINE", "one case as a line: what --case takes (docs/formats.md)"},
    SuiteInfo{
        "onnx:DIR",
        "ONNX backend-test folders below DIR (model.onnx, test_data_set_0); a model that is no single case is cut "
        "as model:FILE is"},
    SuiteInfo{"model:FILE",
              "the quantized nodes and units (DequantizeLinear ... QuantizeLinear) of an ONNX model, activations of a "
              "run in ONNX Runtime, or drawn from --seed"},
    SuiteInfo{"dml:FILE", "DirectML descriptions of quantized linear convolutions, as JSON"},
    SuiteInfo{"PATH",
              "a case file (.json, or an .onnx of one case), an .onnx as model:FILE, a folder of case files, or one "
              "backend-test folder"},
};

// One case that has been read already.
class SingleCaseSuite final : public Suite {
 public:
  SingleCaseSuite(std::string name, Case test_case) : name_(std::move(name)), case_(std::move(test_case)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Result<std::optional<Case>> next() override { return std::exchange(case_, std::nullopt); }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return 1; }

 private:
  std::string name_;
  std::optional<Case> case_;
};

template <typename Opened>
Result<Suites> one(Result<std::unique_ptr<Opened>> opened) {
  QCONFORM_ASSIGN(auto source, std::move(opened));
  Suites sources;
  sources.push_back(std::move(source));
  return sources;
}

// Several suites by name, one after the other.
Result<Suites> open_suites(std::initializer_list<std::string_view> names, const SuiteOptions& options) {
  Suites sources;
  for (const std::string_view name : names) {
    QCONFORM_ASSIGN(auto opened, open_suite(name, options));
    for (auto& source : opened) sources.push_back(std::move(source));
  }
  return sources;
}

// The random graphs of a run that is to end soon.
constexpr std::uint64_t kConformanceGraphs = 1000;

// Random data comes before what goes through all classes in order: it shows most defects sooner.
Result<Suites> open_conformance(std::uint64_t seed) {
  QCONFORM_ASSIGN(auto sources, open_suites({"killers", "corpus", "directed"}, {.seed = seed, .cases = {}}));
  QCONFORM_ASSIGN(auto graphs, open_suites({"graphs"}, {.seed = seed, .cases = kConformanceGraphs}));
  QCONFORM_ASSIGN(auto systematic, open_suites({"sweep", "sizes", "neighbours", "qdq"}, {.seed = seed, .cases = {}}));
  for (auto* part : {&graphs, &systematic}) std::move(part->begin(), part->end(), std::back_inserter(sources));
  return sources;
}

// The suites of the default run are kept: they cost more to make than to judge.
Suites kept_if_usual(std::unique_ptr<Suite> suite, const SuiteOptions& options) {
  const bool is_usual = options.seed == SuiteOptions{}.seed;
  const std::string name = suite->name();
  Suites suites;
  suites.push_back(is_usual ? cache::kept(std::move(suite), name, std::to_string(options.seed)) : std::move(suite));
  return suites;
}

Suites drawn(std::string_view name, DrawnSuite::Draw draw, const SuiteOptions& options, std::uint64_t usual) {
  const std::uint64_t count = options.cases.value_or(usual);
  const bool is_in_default = (name == "directed" && count == DirectedSuite::kDefaultCases) ||
                             (name == "graphs" && count == kConformanceGraphs);
  auto suite = std::make_unique<DrawnSuite>(std::string(name), draw, options.seed, count);
  if (is_in_default) return kept_if_usual(std::move(suite), options);
  Suites suites;
  suites.push_back(std::move(suite));
  return suites;
}

bool is_backend_test_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / "model.onnx", ignored);
}

bool has_several_nodes(const fs::path& file) {
  onnx::ModelProto model;
  return read_model(file, model) && model.graph().node_size() > 1;
}

Result<Suites> open_path(const fs::path& path, const SuiteOptions& options) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    std::vector<std::string_view> names;
    for (const SuiteInfo& suite : kSuites) names.push_back(suite.name);
    const std::string ending = path.has_parent_path() ? "." : ending_with_guess(path.string(), names);
    return fail("--suite", fmt::format("no suite and no file \"{}\"{} Suites are {}", path.string(), ending,
                                       fmt::join(names, ", ")));
  }
  if (is_backend_test_folder(path)) return one(OnnxFolderSuite::open(path, options.seed));
  if (path.extension() == ".onnx") {
    auto test_case = load_single_case(path);
    if (!test_case && has_several_nodes(path)) return open_suite("model:" + path.string(), options);
    if (!test_case) return tl::unexpected(test_case.error());
    Suites sources;
    sources.push_back(std::make_unique<SingleCaseSuite>(path.string(), std::move(*test_case)));
    return sources;
  }
  return one(CorpusSuite::open(path.string(), path));
}

}  // namespace

std::span<const SuiteInfo> suites() {
  return kSuites;
}

namespace {

fs::path& offered_corpus() {
  static fs::path folder;
  return folder;
}

}  // namespace

void offer_corpus(fs::path folder) {
  offered_corpus() = std::move(folder);
}

fs::path corpus_folder() {
  if (const char* chosen = std::getenv("QCONFORM_CORPUS"); chosen != nullptr && *chosen != '\0') return chosen;
  if (!offered_corpus().empty()) return offered_corpus();
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = program.parent_path().parent_path() / "share" / "qconform" / "corpus";
    if (fs::is_directory(installed, error)) return installed;
  }
  return kSourceCorpus;
}

std::optional<std::string_view> relations_base(std::string_view suite) {
  constexpr std::string_view kName = "relations";
  if (suite == kName) return "random";
  if (suite.starts_with(kName) && suite.substr(kName.size()).starts_with(":")) return suite.substr(kName.size() + 1);
  return std::nullopt;
}

bool takes_number_of_cases(std::string_view suite) {
  const std::string_view drawn = relations_base(suite).value_or(suite);
  return draw_of_suite(drawn) != nullptr || drawn == "directed";
}

DrawnSuite::Draw draw_of_suite(std::string_view suite) {
  if (suite == "random") return random_case;
  if (suite == "graphs") return graph_case;
  return suite == "fuzz" ? fuzz_case : nullptr;
}

Result<Suites> open_suite(std::string_view name, const SuiteOptions& options) {
  if (const auto base = relations_base(name)) name = *base;
  if (name == "conformance") return open_conformance(options.seed);
  if (name == "killers") return one(CorpusSuite::open("killers", corpus_folder() / name));
  if (name == "corpus") return one(CorpusSuite::open("corpus", corpus_folder(), "killers"));
  if (name == "sweep")
    return kept_if_usual(std::make_unique<sweep::SweepSuite>("sweep", sweep::plans, options.seed), options);
  if (name == "qdq")
    return kept_if_usual(std::make_unique<sweep::SweepSuite>("qdq", sweep::unit_plans, options.seed), options);
  if (name == "sizes") return kept_if_usual(sweep::sizes_suite("sizes", {}, options.seed), options);
  if (name == "neighbours") return kept_if_usual(sweep::neighbours_suite("neighbours", {}, options.seed), options);
  if (name == "directed") return drawn(name, directed_case, options, DirectedSuite::kDefaultCases);
  if (name == "within") return fail("--suite", "within is made for backends: it goes with qconform run and matrix");
  if (const DrawnSuite::Draw draw = draw_of_suite(name)) return drawn(name, draw, options, RandomSuite::kDefaultCases);
  if (name.starts_with("onnx:")) return one(OnnxFolderSuite::open(fs::path(name.substr(5)), options.seed));
  if (name.starts_with("model:")) {
    ModelOptions model = options.whole_model != nullptr ? *options.whole_model : ModelOptions{};
    if (options.whole_model == nullptr) model.activations = ModelOptions::Activations::computed_if_possible;
    model.context = options.context;
    model.memory = options.model_mebibytes << 20;
    model.tell = options.tell;
    return one(OnnxModelSuite::open(fs::path(name.substr(6)), options.seed, model));
  }
  if (name.starts_with(kLinePrefix)) {
    QCONFORM_ASSIGN(auto test_case, case_of_line(name.substr(kLinePrefix.size())));
    Suites sources;
    sources.push_back(std::make_unique<SingleCaseSuite>("case", std::move(test_case)));
    return sources;
  }
  if (name.starts_with("dml:")) return one(DirectMlSuite::open(fs::path(name.substr(4))));
  return open_path(fs::path(name), options);
}

namespace {

Result<Case> read_single_case(const fs::path& path) {
  if (const std::string text = path.string(); text.starts_with(kLinePrefix)) {
    return case_of_line(std::string_view(text).substr(kLinePrefix.size()));
  }
  if (is_backend_test_folder(path)) {
    QCONFORM_ASSIGN(auto cases, read_case_folder(path));
    if (cases.size() != 1) {
      return fail(path.string(), fmt::format("expected one data set, found {}; use --suite onnx:DIR", cases.size()));
    }
    return std::move(cases.front());
  }
  return path.extension() == ".onnx" ? read_case_model(path) : load_case(path);
}

}  // namespace

Result<Case> load_single_case(const fs::path& path) {
  QCONFORM_ASSIGN(auto test_case, read_single_case(path));
  QCONFORM_TRY(in_context(path.string(), check_operator(test_case)));
  return test_case;
}

}  // namespace qconform
