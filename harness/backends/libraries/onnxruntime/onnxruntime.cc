// ONNX Runtime as a backend, one node at a time, and as what computes whole models.

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "harness/backends/libraries/adapters.h"
#include "harness/backends/libraries/libraries.h"
#include "harness/backends/libraries/onnxruntime/onnxruntime_api.h"
#include "harness/backends/libraries/onnxruntime/onnxruntime_form.h"
#include "harness/backends/libraries/onnxruntime/onnxruntime_providers.h"
#include "harness/base/bytes.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/derived_models.h"
#include "harness/onnx/protobuf.h"

namespace qconform::libraries {
namespace {

using ort::create_session;
using ort::failure;
using ort::loaded;
using ort::over;
using ort::Owned;
using ort::Runtime;

class PreparedSession final : public PreparedCase {
 public:
  // `memory`: of the inputs that are fed.
  PreparedSession(const Runtime& runtime, const Case& test_case, std::vector<std::size_t> fed,
                  std::vector<std::span<std::byte>> memory)
      : runtime_(runtime),
        api_(runtime.api),
        case_(test_case),
        fed_(std::move(fed)),
        memory_(std::move(memory)),
        session_(api_.ReleaseSession) {}

  [[nodiscard]] std::optional<std::string> create(const std::string& model) {
    return create_session(runtime_, model, session_);
  }

  void run(OutputSink& sink) override {
    if (auto message = run_session(sink)) sink.refuse(refusal(case_, told_of_nodes(std::move(*message))));
  }

 private:
  [[nodiscard]] std::optional<std::string> run_session(OutputSink& sink) {
    std::vector<std::unique_ptr<Owned<OrtValue>>> values;
    std::vector<const OrtValue*> inputs;
    std::vector<const char*> names;
    const std::vector<std::string> all_names = input_names(case_);
    for (std::size_t i = 0; i < fed_.size(); ++i) {
      const Tensor& tensor = *case_.inputs[fed_[i]];
      auto& value = *values.emplace_back(std::make_unique<Owned<OrtValue>>(api_.ReleaseValue));
      if (auto failed = over(runtime_, tensor.type, tensor.shape, memory_[i], value)) return failed;
      inputs.push_back(value.get());
      names.push_back(all_names[fed_[i]].c_str());
    }
    const std::vector<std::string> output_names = qconform::output_names(case_);
    std::vector<const char*> wanted;
    for (const std::string& name : output_names) wanted.push_back(name.c_str());
    std::vector<OrtValue*> outputs(wanted.size(), nullptr);
    auto failed = failure(api_, api_.Run(session_.get(), nullptr, names.data(), inputs.data(), inputs.size(),
                                         wanted.data(), wanted.size(), outputs.data()));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Owned<OrtValue> output(api_.ReleaseValue);
      *output.out() = outputs[i];
      if (!failed) failed = copy_output(*output.get(), i, sink);
    }
    return failed;
  }

  [[nodiscard]] std::optional<std::string> copy_output(OrtValue& value, std::size_t number, OutputSink& sink) const {
    ort::OutputView output;
    if (auto failed = ort::view(api_, value, output)) return failed;
    ort::copy(output, sink.allocate(number, output.type, output.shape));
    return std::nullopt;
  }

  const Runtime& runtime_;
  const OrtApi& api_;
  const Case& case_;
  std::vector<std::size_t> fed_;
  std::vector<std::span<std::byte>> memory_;
  Owned<OrtSession> session_;
};

// One input, and an output that stays where it is: the session's run and no copy around it.
class RepeatedSession final : public RepeatedRun {
 public:
  RepeatedSession(const Runtime& runtime, const Case& test_case, Tensor output, int threads)
      : runtime_(runtime),
        case_(test_case),
        output_(std::move(output)),
        x_memory_(test_case.input(0)->bytes),
        y_memory_(static_cast<std::size_t>(bytes_for(output_.type, output_.elements()))),
        threads_(threads),
        session_(runtime.api.ReleaseSession),
        x_(runtime.api.ReleaseValue),
        y_(runtime.api.ReleaseValue),
        x_name_(input_names(test_case).front()),
        y_name_(output_names(test_case).front()) {}

  [[nodiscard]] std::optional<std::string> create(const std::string& model) {
    const Tensor& x = *case_.input(0);
    const auto set_threads = [&](int count) {
      return failure(runtime_.api, runtime_.api.SetIntraOpNumThreads(runtime_.options.get(), count));
    };
    if (auto failed = set_threads(threads_)) return failed;
    if (auto failed = create_session(runtime_, model, session_)) return failed;
    if (auto failed = set_threads(1)) return failed;  // as every other session has it
    if (auto failed = over(runtime_, x.type, x.shape, x_memory_.bytes(), x_)) return failed;
    return over(runtime_, output_.type, output_.shape, y_memory_.bytes(), y_);
  }

  void run() override {
    const char* x_name = x_name_.c_str();
    const char* y_name = y_name_.c_str();
    const OrtValue* x = x_.get();
    OrtStatus* status = runtime_.api.Run(session_.get(), nullptr, &x_name, &x, 1, &y_name, 1, y_.out());
    if (status != nullptr) refusal_ = refusal(case_, *failure(runtime_.api, status));
  }
  [[nodiscard]] Outcome outcome() override {
    if (refusal_) return *refusal_;
    output_.bytes.assign(y_memory_.bytes().begin(), y_memory_.bytes().end());
    return outcome::Produced{output_};
  }
  // The library's layout is ONNX's.
  [[nodiscard]] RunSetting setting() const override { return {Layout::channels_first, threads_}; }

 private:
  const Runtime& runtime_;
  const Case& case_;
  Tensor output_;
  AlignedBytes x_memory_;
  AlignedBytes y_memory_;
  int threads_;
  Owned<OrtSession> session_;
  Owned<OrtValue> x_;
  Owned<OrtValue> y_;
  std::string x_name_;
  std::string y_name_;
  std::optional<Outcome> refusal_;
};

class OnnxRuntime final : public Backend {
 public:
  // Without a form each case has its own.
  OnnxRuntime(std::unique_ptr<Runtime> runtime, const OrtForm* form, BackendInfo info)
      : runtime_(std::move(runtime)), form_(form), info_(std::move(info)) {}

  [[nodiscard]] const BackendInfo& info() const override { return info_; }

  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare_on_own_tensors(*this, test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    auto model = ort_model(test_case, form_);
    if (!model) return refused(test_case, model.error().text());
    std::vector<std::span<std::byte>> memory;
    for (const std::size_t position : model->fed) memory.push_back(inputs.bytes(position));
    auto session = std::make_unique<PreparedSession>(*runtime_, test_case, std::move(model->fed), std::move(memory));
    if (auto message = session->create(model->bytes)) return refused(test_case, told_of_nodes(std::move(*message)));
    return session;
  }

  [[nodiscard]] std::optional<CaseGraph> rewritten(const Case& test_case) override {
    const auto model = ort_graph_model(test_case, form_);
    if (!model) return std::nullopt;
    const auto optimized = ort::optimized_model(*runtime_, model->bytes);
    auto graph = optimized ? graph_of_model(*optimized) : tl::unexpected(optimized.error());
    return graph ? std::optional(std::move(*graph)) : std::nullopt;
  }

  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& wanted) override {
    const Classification classification = classify(test_case);
    const auto model = ort_model(test_case, ort_form_named("initializers"));
    // A case without an output to lay out beforehand is run as any case.
    if (!classification.lowered || (model && model->fed != std::vector<std::size_t>{0})) return std::nullopt;
    if (!model) return refused_as<RepeatedPreparation>(test_case, model.error().text());
    const Lowered& lowered = *classification.lowered;
    auto session = std::make_unique<RepeatedSession>(
        *runtime_, test_case, Tensor{lowered.output_type(), lowered.output_shape(), {}}, wanted.threads);
    if (auto message = session->create(model->bytes)) return refused_as<RepeatedPreparation>(test_case, *message);
    return session;
  }

 private:
  std::unique_ptr<Runtime> runtime_;
  const OrtForm* form_;
  BackendInfo info_;
};

backend::LibraryState state() {
  return {loaded().version, loaded().absent};
}

struct Level {
  std::string_view word;
  GraphOptimizationLevel level;
};
constexpr std::array kLevels{Level{"", ORT_DISABLE_ALL},       Level{"disabled", ORT_DISABLE_ALL},
                             Level{"basic", ORT_ENABLE_BASIC}, Level{"extended", ORT_ENABLE_EXTENDED},
                             Level{"all", ORT_ENABLE_ALL},     Level{"opt", ORT_ENABLE_ALL}};

GraphOptimizationLevel level_of(const backend::Specification& what) {
  const auto* level =
      std::find_if(kLevels.begin(), kLevels.end(), [&](const Level& one) { return one.word == what.word; });
  return level == kLevels.end() ? ORT_DISABLE_ALL : level->level;
}

std::string unknown_form(const backend::Specification& what, const std::string& value) {
  return fmt::format("\"{}\": no form \"{}\"; expected {}", backend::text_of(what), value, kOrtFormNames);
}

// Levels and forms, each by its word.
std::vector<std::string_view> words() {
  std::vector<std::string_view> all;
  for (const Level& level : kLevels) all.push_back(level.word);
  for (const OrtForm& form : kOrtForms) all.push_back(form.word);
  std::erase(all, "");
  return all;
}

constexpr std::string_view kOptionOfProvider = "ep.";

// The settings behind the @, but for the word.
struct ProviderSettings {
  const OrtForm* form = nullptr;
  std::optional<ort::Provider> provider{};
  std::vector<backend::Setting> session{};  // entries of the session's configuration
};

Result<ProviderSettings> settings_of(const backend::Specification& what) {
  ProviderSettings settings{ort_form_named(what.word)};
  ort::Provider provider;
  bool names_more = false;  // than a session's configuration has
  for (const auto& [key, value] : what.settings) {
    if (key == "form") {
      settings.form = ort_form_named(value);
      if (settings.form == nullptr) return fail("--backend", unknown_form(what, value));
    } else if (key.starts_with("session.") || key.starts_with("optimization.")) {
      settings.session.push_back({key, value});
    } else {
      names_more = true;
      if (key == "ep") provider.name = value;
      if (key == "library") provider.library = value;
      if (key == "device") provider.device = value;
      if (key.starts_with(kOptionOfProvider))
        provider.options.emplace_back(key.substr(kOptionOfProvider.size()), value);
    }
  }
  if (names_more && provider.name.empty()) {
    return fail("--backend", fmt::format("\"{}\" names no provider: ep=NAME does", backend::text_of(what)));
  }
  if (names_more) settings.provider = std::move(provider);
  return settings;
}

std::optional<std::string> configure(const ort::Loaded& library, Runtime& runtime, GraphOptimizationLevel level,
                                     const ProviderSettings& settings) {
  if (auto failed = runtime.start(level)) return failed;
  for (const backend::Setting& setting : settings.session) {
    if (auto failed = runtime.set(setting.key, setting.value)) return failed;
  }
  return settings.provider ? ort::use_provider(*library.base, runtime, *settings.provider) : std::nullopt;
}

Result<std::unique_ptr<Backend>> open_with(const ort::Loaded& library, const backend::Specification& what) {
  QCONFORM_ASSIGN(const ProviderSettings settings, settings_of(what));
  auto runtime = std::make_unique<Runtime>(*library.api);
  if (auto failed = configure(library, *runtime, level_of(what), settings)) {
    return fail("--backend", fmt::format("\"{}\": ONNX Runtime does not start: {}", backend::text_of(what), *failed));
  }
  BackendInfo info{backend::text_of(what), library.version, "library", true};
  info.pinned = {"threads=1", "precision=float32"};
  // A user's own value holds where the library takes it: for some threads of some releases.
  const auto is_own = [](const backend::Setting& setting) { return setting.key == ort::kFlushSubnormals; };
  if (std::none_of(settings.session.begin(), settings.session.end(), is_own))
    info.pinned.emplace_back("subnormals=kept");
  return std::make_unique<OnnxRuntime>(std::move(runtime), settings.form, std::move(info));
}

Result<std::unique_ptr<Backend>> open(const backend::Specification& what) {
  return open_with(loaded(), what);
}

// The release, or the library in the file or folder, that stands behind the name.
Result<ort::Loaded> other_library(const backend::Specification& what) {
  if (backend::names_a_file(what)) {
    ort::Loaded named = ort::load_named(what.version);
    if (named.api != nullptr) return named;
    return fail("--backend", fmt::format("\"{}\": {}", backend::text_of(what), named.absent));
  }
  QCONFORM_ASSIGN(const auto root, root_for(what, loaded().version));
  ort::Loaded library = ort::load_release(root.folder);
  if (library.api != nullptr) return library;
  return tl::unexpected(damaged_root(what, root, library.absent));
}

Result<std::unique_ptr<Backend>> open_release(const backend::Specification& what) {
  QCONFORM_ASSIGN(const auto library, other_library(what));
  return open_with(library, what);
}

std::vector<std::string> releases() {
  return versions_of_roots("onnxruntime");
}

}  // namespace

namespace {

constexpr Switch without(std::string_view optimizer) {
  return {"optimization.disable_specified_optimizers", optimizer, true};
}

// Options, then optimizers by the names that the library knows them by; it ignores those that a release lacks.
constexpr Switch kSwitches[] = {
    {"session.disable_quant_qdq", "1"},
    {"session.disable_double_qdq_remover", "1"},
    {"session.qdq_matmulnbits_accuracy_level", "0"},
    without("ConstantFolding"),
    without("CommonSubexpressionElimination"),
    without("ConstantSharing"),
    without("EliminateIdentity"),
    without("EliminateSlice"),
    without("EliminateDropout"),
    without("UnsqueezeElimination"),
    without("ExpandElimination"),
    without("CastElimination"),
    without("CastChainElimination"),
    without("NoopElimination"),
    without("PreShapeNodeElimination"),
    without("DivMulFusion"),
    without("NotWhereFusion"),
    without("FuseReluClip"),
    without("GemmSumFusion"),
    without("GemmTransposeFusion"),
    without("ConvAddFusion"),
    without("ConvMulFusion"),
    without("ConvBNFusion"),
    without("Pad_Fusion"),
    without("MatMul_BatchNormalization_Fusion"),
    without("ClipQuantRewrite"),
    without("ReluQuantRewrite"),
    without("MatMulAddFusion"),
    without("ReshapeFusion"),
    without("GeluFusionL1"),
    without("LayerNormFusionL1"),
    without("QDQPropagationTransformer"),
    without("WeightBiasQuantization"),
    without("EnsureUniqueDQForNodeUnit"),
    without("DoubleQDQPairsRemover"),
    without("TransposeOptimizer"),
    without("QDQS8ToU8Transformer"),
    without("WhereDummyDq"),
    without("QDQSelectorActionTransformer"),
    without("GemmActivationFusion"),
    without("MatMulIntegerToFloatFusion"),
    without("DynamicQuantizeMatMulFusion"),
    without("ConvActivationFusion"),
    without("GeluFusionL2"),
    without("LayerNormFusionL2"),
    without("SimplifiedLayerNormFusion"),
    without("AttentionFusion"),
    without("EmbedLayerNormFusion"),
    without("SkipLayerNormFusion"),
    without("MatmulTransposeFusion"),
    without("MatMulScaleFusion"),
    without("MatMulActivationFusion"),
    without("QDQFinalCleanupTransformer"),
    without("NchwcTransformer"),
    without("NhwcTransformer"),
    without("Avx2WeightS8ToU8Transformer"),
};

}  // namespace

backend::Library onnxruntime() {
  return {"onnxruntime",
          "ONNX Runtime, CPU; every operator; as stated, or with graph optimization (opt is all)",
          {words(),
           {{"form", kOrtFormNames},
            {"session.*", "TEXT"},
            {"optimization.*", "TEXT"},
            {"ep", "NAME"},
            {"library", "PATH"},
            {"device", "cpu, gpu or npu"},
            {"ep.*", "TEXT"}}},
          state,
          open,
          open_release,
          nullptr,
          releases,
          nullptr,
          {"disabled", "basic", "extended", "all"},
          {},
          {std::begin(kSwitches), std::end(kSwitches)}};
}

// Whole models in ONNX Runtime.

namespace {

// The option that says where a model given as bytes finds its external data; older releases do not know the key.
constexpr const char* kExternalFolder = "session.model_external_initializers_file_folder_path";

Result<void> check(std::optional<std::string> failed) {
  if (!failed) return {};
  const bool is_limit =
      failed->find("Failed to allocate memory") != std::string::npos || failed->find("bad_alloc") != std::string::npos;
  return fail("", std::move(*failed), is_limit ? "limit" : "");
}

std::vector<std::string> output_names(const std::string& model) {
  onnx::ModelProto proto;
  std::vector<std::string> names;
  if (!parse_message(model, proto)) return names;
  for (const onnx::ValueInfoProto& output : proto.graph().output()) names.push_back(output.name());
  return names;
}

std::vector<const char*> pointers_to(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

// The outputs, which the library may forget then.
Result<NamedTensors> copied(const OrtApi& api, const std::vector<std::string>& names,
                            const std::vector<OrtValue*>& values) {
  NamedTensors tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ort::OutputView output;
    if (auto failed = ort::view(api, *values[i], output)) return fail("", names[i] + ": " + *failed);
    QCONFORM_ASSIGN(const auto bytes, checked_bytes(names[i], output.type, output.shape));
    Tensor tensor{output.type, output.shape, std::vector<std::byte>(static_cast<std::size_t>(bytes))};
    ort::copy(output, tensor.bytes);
    tensors.emplace(names[i], std::move(tensor));
  }
  return tensors;
}

// One for all parts of a model, in the process that runs it: starting takes longer than a part. Its folder of external
// data is that of the model.
Result<Runtime*> runtime_for(const backend::Specification& setting, const std::filesystem::path& folder) {
  static std::map<std::string, std::unique_ptr<Runtime>> started;
  std::unique_ptr<Runtime>& runtime = started[backend::text_of(setting)];
  if (runtime == nullptr) {
    const bool is_other = !setting.version.empty() && !backend::check_version(setting, loaded().version);
    std::optional<ort::Loaded> other;
    if (is_other) {
      QCONFORM_ASSIGN(other, other_library(setting));
    }
    // A loaded release stays until the process ends.
    const ort::Loaded& library = is_other ? *new ort::Loaded(*other) : loaded();
    QCONFORM_TRY(backend::check_settings(setting, onnxruntime().accepted));
    QCONFORM_ASSIGN(const ProviderSettings settings, settings_of(setting));
    auto fresh = std::make_unique<Runtime>(*library.api);
    QCONFORM_TRY(check(configure(library, *fresh, level_of(setting), settings)));
    runtime = std::move(fresh);
  }
  const std::string place = folder.empty() ? "." : folder.string();
  OrtStatus* status = runtime->api.AddSessionConfigEntry(runtime->options.get(), kExternalFolder, place.c_str());
  QCONFORM_TRY(check(failure(runtime->api, status)));
  return runtime.get();
}

Result<std::string> rewritten(const std::string& model, const std::filesystem::path& folder,
                              const backend::Specification& setting) {
  QCONFORM_ASSIGN(const Runtime* runtime, runtime_for(setting, folder));
  return ort::optimized_model(*runtime, model);
}

Result<NamedTensors> run(const std::string& model, const std::filesystem::path& folder, const NamedTensors& inputs,
                         const backend::Specification& setting) {
  NamedTensors memory = inputs;  // a copy that the library may write to
  QCONFORM_ASSIGN(Runtime * started, runtime_for(setting, folder));
  Runtime& runtime = *started;
  const OrtApi& api = runtime.api;
  Owned<OrtSession> session(api.ReleaseSession);
  QCONFORM_TRY(check(ort::create_session(runtime, model, session)));
  std::vector<std::unique_ptr<Owned<OrtValue>>> held;
  std::vector<const OrtValue*> given;
  std::vector<const char*> given_names;
  for (auto& [name, tensor] : memory) {
    auto& value = *held.emplace_back(std::make_unique<Owned<OrtValue>>(api.ReleaseValue));
    QCONFORM_TRY(check(ort::over(runtime, tensor.type, tensor.shape, tensor.bytes, value)));
    given.push_back(value.get());
    given_names.push_back(name.c_str());
  }
  const std::vector<std::string> names = output_names(model);
  std::vector<OrtValue*> values(names.size(), nullptr);
  OrtStatus* status = api.Run(session.get(), nullptr, given_names.data(), given.data(), given.size(),
                              pointers_to(names).data(), names.size(), values.data());
  QCONFORM_TRY(check(failure(api, status)));
  auto result = copied(api, names, values);
  for (OrtValue* value : values) api.ReleaseValue(value);
  return result;
}

}  // namespace

ModelRuntime onnxruntime_models() {
  const ort::Loaded& library = ort::loaded();
  return {library.absent.empty() ? "ONNX Runtime " + library.version : "ONNX Runtime", library.absent, run, rewritten};
}

}  // namespace qconform::libraries
