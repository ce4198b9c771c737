// `qconform model`: a whole model in a runtime, each quantized layer judged on the inputs that reached it there.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "harness/backends/library.h"
#include "harness/backends/specification.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/cli/command.h"
#include "harness/cli/judge_suites.h"
#include "harness/cli/report_output.h"
#include "harness/engine/model_run.h"
#include "harness/suites/model_sample.h"
#include "harness/suites/onnx_model.h"

namespace qconform::cli {
namespace {

struct ModelCommand : SuitesOptions {
  std::string model;
  std::vector<std::string> inputs;
  std::vector<std::string> dimensions;
  std::string run;
  std::int64_t sample = kSampledElements;
  ReportForms forms;
};

// Answers with what the run of the whole model gave, for the cases of that run alone.
class RecordedRun final : public Backend {
 public:
  RecordedRun(std::string setting, const ModelFacts& facts) : facts_(facts) {
    info_.name = setting;
    info_.version = offered_model_runtime().name;
    info_.kind = "whole model";
    info_.specification = std::move(setting);
    info_.concurrent = true;
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override {
    if (test_case.recorded_outputs.empty()) {
      return outcome::Unsupported{"no activation: the run of the model gave no value of this case"};
    }
    const std::uint64_t digest = digest_of(test_case);
    const bool is_of_run = std::any_of(facts_.layers.rbegin(), facts_.layers.rend(),
                                       [&](const ModelLayer& layer) { return layer.digest == digest; });
    if (!is_of_run) return outcome::Unsupported{"the run of the model has answers of its own cases alone"};
    return std::make_unique<Recorded>(test_case);
  }

 private:
  class Recorded final : public PreparedCase {
   public:
    explicit Recorded(const Case& test_case) : case_(test_case) {}
    void run(OutputSink& sink) override { copy_outputs(outcome::Produced{case_.recorded_outputs}, sink); }

   private:
    const Case& case_;
  };

  const ModelFacts& facts_;
  BackendInfo info_;
};

Result<std::map<std::string, std::int64_t>> dimensions_of(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& text : texts) {
    const std::size_t at = text.rfind('=');
    std::int64_t size = 0;
    const char* const end = text.data() + text.size();
    const bool is_number = at != std::string::npos && std::from_chars(text.data() + at + 1, end, size).ptr == end;
    if (at == 0 || !is_number || size < 1) {
      return fail("--dim", fmt::format("expected NAME=SIZE with a size from 1 on, got {}", quoted_name(text)));
    }
    sizes[text.substr(0, at)] = size;
  }
  return sizes;
}

// Files that make up the inputs of one run.
using Sample = std::vector<std::filesystem::path>;

// The entries of a folder that `takes` takes, by name.
Sample entries_of(const std::filesystem::path& folder, bool (*takes)(const std::filesystem::path&)) {
  Sample found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (takes(entry.path())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Sample tensors_in(const std::filesystem::path& folder) {
  return entries_of(folder, [](const std::filesystem::path& file) {
    const std::string kind = file.extension().string();
    return kind == ".npy" || (kind == ".pb" && file.filename().string().starts_with("input"));
  });
}

// A folder of samples has an .npz file, or a folder of tensors, for each; any other folder is one sample.
std::vector<Sample> samples_in(const std::filesystem::path& folder) {
  std::vector<Sample> samples;
  if (auto tensors = tensors_in(folder); !tensors.empty()) return {std::move(tensors)};
  for (const auto& file : entries_of(folder, [](const auto& path) { return path.extension() == ".npz"; })) {
    samples.push_back({file});
  }
  for (const auto& below : entries_of(folder, [](const auto& path) { return std::filesystem::is_directory(path); })) {
    if (auto tensors = tensors_in(below); !tensors.empty()) samples.push_back(std::move(tensors));
  }
  return samples;
}

// The samples of `--inputs`: files are one sample together, but each .npz file is one by itself.
Result<std::vector<Sample>> input_samples(const std::vector<std::string>& inputs) {
  std::vector<Sample> samples;
  Sample together;
  for (const std::filesystem::path input : inputs) {
    std::error_code error;
    if (std::filesystem::is_directory(input, error)) {
      auto found = samples_in(input);
      if (found.empty()) {
        return fail("--inputs", fmt::format("the folder {} has no input_0.pb, no .npy and no .npz file, and no folder "
                                            "with such files",
                                            input.string()));
      }
      std::move(found.begin(), found.end(), std::back_inserter(samples));
    } else if (input.extension() == ".npz") {
      samples.push_back({input});
    } else {
      together.push_back(input);
    }
  }
  if (!together.empty()) samples.push_back(std::move(together));
  if (samples.empty()) samples.emplace_back();  // inputs are drawn
  return samples;
}

Result<backend::Specification> whole_runtime(const std::string& text) {
  QCONFORM_ASSIGN(auto setting, backend::parse_specification(text));
  if (setting.kind == backend::Specification::Kind::named && setting.name == "onnxruntime" && setting.cpu.empty()) {
    return setting;
  }
  return fail("--backend", fmt::format("{} computes no whole models; onnxruntime[:VERSION][@LEVEL] does, and qconform "
                                       "run --suite model:FILE judges others layer by layer",
                                       text));
}

// One run of the model with one setting and one sample. Returns the exit code.
Result<int> judge_with(const ModelCommand& command, const std::string& setting, const Sample& sample,
                       const Policy& policy) {
  ModelFacts facts;
  ModelOptions whole{.activations = ModelOptions::Activations::computed};
  QCONFORM_ASSIGN(whole.runtime, whole_runtime(setting));
  QCONFORM_ASSIGN(whole.dimensions, dimensions_of(command.dimensions));
  whole.inputs = sample;
  whole.sample = command.sample;
  whole.keeps_units = true;
  whole.run_file = command.run;
  whole.facts = &facts;
  SuitesOptions options = command;
  options.suites = {"model:" + command.model};
  options.suite.whole_model = &whole;
  options.within.within = false;
  options.shrink = false;  // what the run did not compute cannot be asked of it
  options.open_backends = [&] {
    std::vector<std::unique_ptr<Backend>> backends;
    backends.push_back(std::make_unique<RecordedRun>(setting, facts));
    return backends;
  };
  std::map<std::string, ElementReport> worst;
  options.failed = [&](const Case& test_case, const Verdict& verdict) {
    if (verdict.worst) worst.emplace(test_case.id, *verdict.worst);
  };
  QCONFORM_ASSIGN(auto report, judge_suites(options, policy, command.forms.json));
  report.model = model_run(facts, worst, report);
  report.model->run_file = command.run;
  return deliver(options.out, policy, command.forms, report);
}

std::string folder_named(std::string setting) {
  std::replace_if(
      setting.begin(), setting.end(), [](char c) { return c == '/' || c == ' '; }, '_');
  return setting;
}

Result<int> judge_model(const ModelCommand& command) {
  QCONFORM_TRY(check_forms(command.forms));
  QCONFORM_TRY(use_defects(command.defects));
  QCONFORM_ASSIGN(const auto policy, chosen_policy(command.policy));
  QCONFORM_ASSIGN(const auto samples, input_samples(command.inputs));
  int worst = kConforms;
  for (const std::string& setting : command.backends) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      ModelCommand one = command;
      std::filesystem::path out = command.out;
      if (command.backends.size() > 1) out /= folder_named(setting);
      if (samples.size() > 1) {
        if (!command.forms.json) say("sample {} of {}: {}\n", i + 1, samples.size(), samples[i].front().string());
        out /= fmt::format("sample-{}", i + 1);
      }
      one.out = out.string();
      QCONFORM_ASSIGN(const int code, judge_with(one, setting, samples[i], policy));
      worst = std::max(worst, code);
    }
  }
  return worst;
}

}  // namespace

void add_model(CLI::App& app, Action& action) {
  auto options = std::make_shared<ModelCommand>();
  options->out = "build/reports/model";
  options->backends = {"onnxruntime@all"};
  CLI::App* command = app.add_subcommand(
      "model", "Run a whole model in a runtime and judge every quantized layer on the inputs that reached it");
  command->footer(
      "example: qconform model network.onnx --backend onnxruntime@all --backend onnxruntime@disabled\n"
      "The layers are shown as a line, the first wrong one is named.\n"
      "Exit code: 0 every layer that is judged is right, 1 one is not, 2 wrong use, or a model that cannot be read or "
      "run.");
  command->add_option("MODEL", options->model, "ONNX model")->required();
  command
      ->add_option("--backend", options->backends,
                   "ONNX Runtime and its setting, may be repeated: the model is run once with each")
      ->capture_default_str();
  command->add_option(
      "--inputs,--input", options->inputs,
      "TensorProto or .npy file for an input of the model, .npz file with all, a folder of them, or a folder of such "
      "folders or .npz files, each for one run; may be repeated (default: drawn from the seed)");
  command->add_option("--run", options->run,
                      "File that the runtime runs in place of MODEL, whose values have the same names: the model in "
                      "another form, judged as MODEL states it");
  command->add_option(
      "--dim", options->dimensions,
      "NAME=SIZE for a symbolic dimension of the model's inputs, may be repeated (default: a batch of 1, "
      "64 for the sides of images, else 16)");
  command->add_option("--seed", options->suite.seed, "Seed of inputs that are drawn, and of samples")
      ->capture_default_str();
  command
      ->add_option("--sample", options->sample,
                   "About how many elements of each layer's output to judge, in tiles; 0 for all")
      ->check(at_least(0))
      ->capture_default_str();
  command
      ->add_option("--context", options->suite.context,
                   "Neighbouring nodes that the case of each unit includes, before it and behind it")
      ->capture_default_str();
  add_model_memory_option(*command, options->suite.model_mebibytes);
  command
      ->add_option("--min-judged", options->min_judged,
                   "Per cent of the model's quantized nodes that must be judged; below it the exit code is 1")
      ->check(CLI::Range(0, 100));
  add_policy_options(*command, options->policy);
  add_defects_option(*command, options->defects);
  command->add_flag("--no-explain{false}", options->explain, "Do not look for the defects behind wrong layers");
  command
      ->add_option("--out", options->out,
                   "Folder for the report; with several settings, or several samples, one below it for each")
      ->capture_default_str();
  add_form_options(*command, options->forms);
  when_chosen(*command, action, std::move(options), &judge_model);
}

}  // namespace qconform::cli
