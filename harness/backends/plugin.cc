#include "harness/backends/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "harness/backends/kinds.h"
#include "harness/backends/plain_memory.h"
#include "harness/base/bytes.h"
#include "harness/base/text.h"
#include "harness/core/version.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/family.h"
#include "harness/model/operator.h"
#include "harness/model/text.h"

namespace qconform::backend {
namespace {

static_assert(QC_FLOAT8E8M0 == static_cast<int>(ElementType::float8e8m0));
static_assert(QC_INT2 == static_cast<int>(ElementType::int2));

std::vector<std::int64_t> channels_last_shape(std::vector<std::int64_t> shape) {
  std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return shape;
}

bool is_convolution(const Case& test_case) {
  const Family* family = family_of(test_case);
  return family != nullptr && family->name == "convolution";
}

// Returns an attribute for which the interface has no kind, or null.
const Attribute* list_of_strings(const Case& test_case) {
  for (const Node& node : test_case.nodes) {
    for (const Attribute& attribute : node.attributes) {
      if (std::holds_alternative<std::vector<std::string>>(attribute.value)) return &attribute;
    }
  }
  return nullptr;
}

// The result points into the attribute, which is no list of strings.
qc_attribute attribute_for_plugin(const Attribute& attribute) {
  qc_attribute result{};
  result.size = sizeof result;
  result.name = attribute.name.c_str();
  if (const auto* i = std::get_if<std::int64_t>(&attribute.value)) {
    result.kind = QC_INT;
    result.i = *i;
  } else if (const auto* f = std::get_if<float>(&attribute.value)) {
    result.kind = QC_FLOAT;
    result.f = *f;
  } else if (const auto* s = std::get_if<std::string>(&attribute.value)) {
    result.kind = QC_STRING;
    result.s = s->c_str();
    result.count = s->size();
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
    result.kind = QC_INTS;
    result.ints = ints->data();
    result.count = ints->size();
  } else if (const auto* floats = std::get_if<std::vector<float>>(&attribute.value)) {
    result.kind = QC_FLOATS;
    result.floats = floats->data();
    result.count = floats->size();
  }
  return result;
}

}  // namespace

std::string PluginReason::text(const char* otherwise) {
  memory_.back() = '\0';
  return memory_.front() == '\0' ? otherwise : memory_.data();
}

std::optional<PluginRefusal> refusal_of(int status, PluginReason& reason) {
  switch (status) {
    case QC_OK: return std::nullopt;
    case QC_UNSUPPORTED: return outcome::Unsupported{reason.text("unsupported, without a reason")};
    case QC_REJECTED: return outcome::Rejected{reason.text("rejected, without a reason")};
    default: break;
  }
  const std::string given = reason.text("");
  return outcome::BrokenInterface{"status " + std::to_string(status) + ", which qconform/backend.h does not define" +
                                  (given.empty() ? "" : ": " + given)};
}

bool can_turn(ElementType type, std::size_t rank) {
  return rank >= 3 && is_known(type) && bits_of(type) % 8 == 0;
}

std::vector<std::int64_t> channels_first_shape(std::vector<std::int64_t> shape) {
  std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

PluginGraph::PluginGraph(const Case& test_case, InputMemory& memory, bool with_constants, bool channels_last)
    : channels_last_(channels_last && is_convolution(test_case)), named_(named_nodes(test_case)) {
  const std::vector<std::string> names = input_names(test_case);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (test_case.inputs[i]) add_value(test_case, i, names[i], memory, with_constants);
  }
  for (const Node& node : named_) add_node(node);
  for (const std::string& name : output_names(test_case)) outputs_.push_back(by_name_.at(name));
  graph_ = {sizeof(qc_graph), values_.size(), values_.get(),   nodes_.size(),  nodes_.get(),
            inputs_.size(),   inputs_.data(), outputs_.size(), outputs_.data()};
}

// Its outputs are values of their own.
void PluginGraph::add_node(const Node& node) {
  auto& attributes = attributes_.emplace_back();
  for (const Attribute& attribute : node.attributes) attributes.add(attribute_for_plugin(attribute));
  std::vector<std::int32_t>& inputs = node_values_.emplace_back();
  for (const std::string& name : node.inputs) inputs.push_back(name.empty() ? -1 : by_name_.at(name));
  std::vector<std::int32_t>& outputs = node_values_.emplace_back();
  for (const std::string& name : node.outputs) {
    outputs.push_back(name.empty() ? -1 : static_cast<std::int32_t>(values_.size()));
    if (name.empty()) continue;
    by_name_[name] = outputs.back();
    values_.add({sizeof(qc_value), QC_COMPUTED, 0, -1, nullptr, nullptr, 0,
                 channels_last_ ? QC_LAYOUT_CHANNELS_LAST : QC_LAYOUT_ONNX});
  }
  nodes_.add({sizeof(qc_node), node.op_type.c_str(), node.domain.c_str(), node.opset_version, attributes.size(),
              attributes.get(), inputs.size(), inputs.data(), outputs.size(), outputs.data()});
}

void PluginGraph::add_value(const Case& test_case, std::size_t position, const std::string& name, InputMemory& memory,
                            bool with_constants) {
  const Tensor& tensor = *test_case.inputs[position];
  const InputRole role = role_of(test_case, position);
  qc_value value{sizeof(qc_value),
                 QC_PARAMETER,
                 static_cast<std::int32_t>(tensor.type),
                 static_cast<std::int32_t>(tensor.shape.size()),
                 tensor.shape.data(),
                 nullptr,
                 tensor.bytes.size(),
                 QC_LAYOUT_ONNX};
  const auto index = static_cast<std::int32_t>(values_.size());
  by_name_[name] = index;
  if (role == InputRole::data) {
    inputs_.push_back(index);
    value.kind = QC_INPUT;
  } else if (role == InputRole::weight) {
    value.kind = QC_CONSTANT;
  }
  const bool turned = channels_last_ && value.kind != QC_PARAMETER && can_turn(tensor.type, tensor.shape.size());
  if (turned) {
    value.layout = QC_LAYOUT_CHANNELS_LAST;
    value.dims = turned_shapes_.emplace_back(channels_last_shape(tensor.shape)).data();
  }
  if (value.kind == QC_PARAMETER || with_constants) {
    value.data = turned ? memory.converted(position, tensor.bytes.size(), 0, to_channels_last).data()
                        : memory.bytes(position).data();
  }
  if (role == InputRole::data) {
    run_inputs_.add(value);
    value.data = nullptr;
  }
  values_.add(value);
}

namespace {

struct PluginCapability {
  std::uint64_t bit;
  const char* name;
};
constexpr PluginCapability kPluginCapabilities[] = {{QC_ASSUMES_VALID, "assumes-valid"},
                                                    {QC_CHANNELS_LAST, "channels-last"},
                                                    {QC_UNITS, "units"},
                                                    {QC_SAME_INPUTS, "same-inputs"},
                                                    {QC_NEEDS_CHANNELS_LAST, "needs-channels-last"}};

// Memory for an output of the type and shape that a library states; null where those are invalid.
void* allocate_stated(OutputSink& sink, std::size_t output, std::int32_t type, std::int32_t rank,
                      const std::int64_t* dims) {
  if (rank < 0 || (rank > 0 && dims == nullptr)) return nullptr;
  const std::span<const std::int64_t> shape(dims, static_cast<std::size_t>(rank));
  const auto element_type = static_cast<ElementType>(type);
  if (!checked_bytes("y", element_type, shape)) return nullptr;
  return sink.allocate(output, element_type, shape).data();
}

// An output that a library writes with its channels last.
struct TurnedOutput {
  std::size_t output;
  ElementType type;
  std::vector<std::int64_t> shape;  // channels first
  void* memory;
};

// Takes the outputs of a run.
struct RunOutputs {
  OutputSink& sink;
  std::size_t count;
  bool channels_last;
  std::vector<TurnedOutput> turned = {};
};

// States the shape with channels first to the sink. The library writes into the sink's own memory, with channels last,
// so that the same guards find what it writes beside y; the bytes are turned round after the run.
void* allocate_output(void* context, std::size_t output, std::int32_t type, std::int32_t rank,
                      const std::int64_t* dims) {
  auto& outputs = *static_cast<RunOutputs*>(context);
  if (output >= outputs.count) return nullptr;
  // A library that asks twice has lost the first memory.
  std::erase_if(outputs.turned, [&](const TurnedOutput& earlier) { return earlier.output == output; });
  const auto element_type = static_cast<ElementType>(type);
  if (!outputs.channels_last || dims == nullptr || rank < 3 ||
      !can_turn(element_type, static_cast<std::size_t>(rank))) {
    return allocate_stated(outputs.sink, output, type, rank, dims);
  }
  std::vector<std::int64_t> shape = channels_first_shape({dims, dims + rank});
  void* memory = allocate_stated(outputs.sink, output, type, rank, shape.data());
  if (memory != nullptr) outputs.turned.push_back({output, element_type, std::move(shape), memory});
  return memory;
}

void turn_outputs(const RunOutputs& outputs) {
  for (const TurnedOutput& output : outputs.turned) {
    const auto size = static_cast<std::size_t>(bytes_for(output.type, elements_of(output.shape)));
    const std::span<std::byte> y(static_cast<std::byte*>(output.memory), size);
    const std::vector<std::byte> channels_last(y.begin(), y.end());
    to_channels_first(channels_last, output.type, output.shape, y);
  }
}

// Says what is wrong with the scratch memory that a library states; empty where nothing is.
std::string scratch_fault(const qc_prepared& prepared) {
  constexpr std::size_t kMostScratch = std::size_t{1} << 40;
  if (prepared.scratch_bytes > kMostScratch) {
    return fmt::format("scratch_bytes is {}, expected at most 2^40", prepared.scratch_bytes);
  }
  if (!std::has_single_bit(prepared.scratch_alignment) || prepared.scratch_alignment > OutputSink::kScratchAlignment) {
    return fmt::format("scratch_alignment is {}, expected a power of two up to {}", prepared.scratch_alignment,
                       OutputSink::kScratchAlignment);
  }
  return {};
}

// A library that is open.
struct OpenPlugin {
  qc_backend functions{};
  void* state = nullptr;
};

class PreparedPluginGraph final : public PreparedCase {
 public:
  PreparedPluginGraph(const OpenPlugin& plugin, std::unique_ptr<PluginGraph> graph, const qc_prepared& prepared)
      : plugin_(plugin), graph_(std::move(graph)), prepared_(prepared) {
    if (prepared_.scratch_alignment == 0) prepared_.scratch_alignment = 1;
  }
  ~PreparedPluginGraph() override {
    if (plugin_.functions.release != nullptr) plugin_.functions.release(plugin_.state, prepared_.node);
  }

  void run(OutputSink& sink) override { turn_outputs(compute(sink)); }

  [[nodiscard]] Layout layout() const {
    return graph_->channels_last() ? Layout::channels_last : Layout::channels_first;
  }

  /// Leaves the outputs as the library lays them.
  RunOutputs compute(OutputSink& sink) {
    RunOutputs outputs{sink, graph_->get()->output_count, graph_->channels_last()};
    if (auto fault = scratch_fault(prepared_); !fault.empty()) {
      sink.refuse(outcome::BrokenInterface{fault});
      return outputs;
    }
    void* scratch = nullptr;
    if (prepared_.scratch_bytes > 0) {
      scratch = sink.scratch(prepared_.scratch_bytes, prepared_.scratch_alignment).data();
    }
    PluginReason why;
    qc_reason room = why.room();
    const qc_run run{sizeof(qc_run), graph_->get(), graph_->run_inputs(), scratch, &outputs, allocate_output};
    const int status = plugin_.functions.run(plugin_.state, prepared_.node, &run, &room);
    if (auto refusal = refusal_of(status, why)) {
      std::visit([&](auto&& reason) { sink.refuse(std::forward<decltype(reason)>(reason)); }, std::move(*refusal));
    }
    return outputs;
  }

 private:
  const OpenPlugin& plugin_;
  std::unique_ptr<PluginGraph> graph_;
  qc_prepared prepared_;
};

// One output and the scratch memory, which are there from the second run on.
class SteadyMemory final : public OutputSink {
 public:
  void begin() {
    output_.reset();
    refusal_.reset();
  }
  std::span<std::byte> allocate(std::size_t /*output*/, ElementType type,
                                std::span<const std::int64_t> shape) override {
    const auto size = static_cast<std::size_t>(bytes_for(type, elements_of(shape)));
    if (memory_.bytes().size() != size) memory_ = AlignedBytes(size);
    output_ = {type, {shape.begin(), shape.end()}, {}};
    return memory_.bytes();
  }
  void refuse(Outcome refusal) override { refusal_ = std::move(refusal); }
  std::span<std::byte> scratch(std::size_t bytes, std::size_t alignment) override {
    return scratch_.take_again(bytes, alignment);
  }

  [[nodiscard]] Outcome outcome() const {
    if (refusal_) return *refusal_;
    if (!output_) return outcome::LeftUnwritten{"run ended without asking for an output"};
    Tensor y = *output_;
    y.bytes.assign(memory_.bytes().begin(), memory_.bytes().end());
    return outcome::Produced{std::move(y)};
  }

 private:
  AlignedBytes memory_;
  ScratchMemory scratch_;
  std::optional<Tensor> output_;
  std::optional<Outcome> refusal_;
};

// Turning y round is no part of the run.
class RepeatedGraph final : public RepeatedRun {
 public:
  RepeatedGraph(std::unique_ptr<PlainInputs> inputs, std::unique_ptr<PreparedPluginGraph> prepared)
      : inputs_(std::move(inputs)), prepared_(std::move(prepared)) {}

  void run() override {
    memory_.begin();
    turned_ = prepared_->compute(memory_).turned;
    is_turned_back_ = false;
  }
  [[nodiscard]] Outcome outcome() override {
    if (!is_turned_back_) turn_outputs({memory_, 1, true, turned_});
    is_turned_back_ = true;
    return memory_.outcome();
  }
  [[nodiscard]] RunSetting setting() const override { return {prepared_->layout(), 1}; }

 private:
  std::unique_ptr<PlainInputs> inputs_;
  std::unique_ptr<PreparedPluginGraph> prepared_;
  SteadyMemory memory_;
  std::vector<TurnedOutput> turned_;
  bool is_turned_back_ = false;
};

class Plugin final : public Backend {
 public:
  Plugin(const OpenPlugin& plugin, std::string backend_name) : plugin_(plugin) {
    const auto text = [](const char* given) { return std::string(given == nullptr ? "" : given); };
    const qc_backend& functions = plugin_.functions;
    info_ = {std::move(backend_name), text(functions.name) + " " + text(functions.version), "plugin", true};
    info_.valid_only = (functions.capabilities & QC_ASSUMES_VALID) != 0;
    info_.takes_other_inputs = (functions.capabilities & QC_SAME_INPUTS) == 0;
    for (const PluginCapability& capability : kPluginCapabilities) {
      if ((functions.capabilities & capability.bit) != 0) info_.capabilities.emplace_back(capability.name);
    }
    for (std::size_t i = 0; i < functions.switch_count; ++i) {
      const qc_argument& part = *functions.switches[i];
      info_.capabilities.push_back(fmt::format("{}{}={}", kSwitchCapability, part.key, part.value));
    }
  }
  ~Plugin() override {
    if (plugin_.functions.close != nullptr) plugin_.functions.close(plugin_.state);
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare_on_own_tensors(*this, test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return prepare_as<Preparation>(test_case, inputs, [](std::unique_ptr<PreparedPluginGraph> graph) { return graph; });
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& /*wanted*/) override {
    if (test_case.output_count() != 1) return std::nullopt;
    auto inputs = std::make_unique<PlainInputs>(test_case);
    return prepare_as<RepeatedPreparation>(test_case, *inputs, [&](std::unique_ptr<PreparedPluginGraph> graph) {
      return std::make_unique<RepeatedGraph>(std::move(inputs), std::move(graph));
    });
  }

 private:
  // make(graph) is what is given for a graph that the library takes.
  template <typename Either, typename Make>
  Either prepare_as(const Case& test_case, InputMemory& inputs, Make make) {
    const auto refused = [](PluginRefusal refusal) {
      return std::visit([](auto&& why) { return Either(std::forward<decltype(why)>(why)); }, std::move(refusal));
    };
    const qc_backend& functions = plugin_.functions;
    if (is_judged_as_graph(test_case) && (functions.capabilities & QC_UNITS) == 0) {
      return outcome::Unsupported{"takes no " + kind_text(test_case) + ": it does not say that it takes units"};
    }
    if (const auto fits = check_wiring(test_case); !fits) return outcome::Rejected{fits.error().text()};
    if (const Attribute* strings = list_of_strings(test_case)) {
      return outcome::Unsupported{"attribute " + quoted_name(strings->name) +
                                  " is a list of strings, for which the plugin interface has no kind"};
    }
    const bool channels_last = (functions.capabilities & QC_NEEDS_CHANNELS_LAST) != 0;
    PluginReason why;
    qc_reason room = why.room();
    if (functions.supports != nullptr) {
      const PluginGraph description(test_case, inputs, false, channels_last);
      const int status = functions.supports(plugin_.state, description.get(), &room);
      if (auto refusal = refusal_of(status, why)) return refused(std::move(*refusal));
    }
    auto graph = std::make_unique<PluginGraph>(test_case, inputs, true, channels_last);
    qc_prepared prepared{sizeof(qc_prepared), nullptr, 0, 0};
    if (functions.prepare != nullptr) {
      const int status = functions.prepare(plugin_.state, graph->get(), &prepared, &room);
      if (auto refusal = refusal_of(status, why)) return refused(std::move(*refusal));
    }
    return make(std::make_unique<PreparedPluginGraph>(plugin_, std::move(graph), prepared));
  }

  OpenPlugin plugin_;
  BackendInfo info_;
};

// Copies the part of a library's struct that this qconform knows; members that the library lacks are 0.
qc_backend known_part(const qc_backend& functions) {
  qc_backend known{};
  std::memcpy(&known, &functions, std::min(functions.size, sizeof known));
  return known;
}

// The first of its switches that is no KEY=VALUE.
std::optional<std::size_t> broken_switch(const qc_backend& functions) {
  for (std::size_t i = 0; i < functions.switch_count; ++i) {
    const qc_argument* part = functions.switches == nullptr ? nullptr : functions.switches[i];
    const bool is_there = part != nullptr && part->key != nullptr && part->value != nullptr;
    if (!is_there || !is_key(part->key) || !is_plain_value(part->value)) return i;
  }
  return std::nullopt;
}

// "plugin:./libmine.so", for errors.
std::string plugin_field(const Specification& what) {
  return "plugin:" + what.name;
}

// `functions` lives as long as the process.
Result<std::unique_ptr<Backend>> open_plugin(const qc_backend& functions, const Specification& what) {
  OpenPlugin plugin{known_part(functions), nullptr};
  if (plugin.functions.run == nullptr) {
    return fail(plugin_field(what), fmt::format("its qc_backend of {} bytes has no function run", functions.size));
  }
  if (const auto broken = broken_switch(plugin.functions)) {
    return fail(plugin_field(what),
                fmt::format("its switch {} of {} has no key and value of letters, digits, '_', '-' and '.', the key "
                            "with a letter in front",
                            *broken + 1, plugin.functions.switch_count));
  }
  PluginList<qc_argument> arguments;
  for (const Setting& setting : what.settings) {
    arguments.add({sizeof(qc_argument), setting.key.c_str(), setting.value.c_str()});
  }
  if (plugin.functions.open == nullptr) {
    if (what.settings.empty()) return std::make_unique<Plugin>(plugin, text_of(what));
    return fail(plugin_field(what), "takes no arguments, got " + what.settings.front().key);
  }
  PluginReason why;
  qc_reason room = why.room();
  const std::string harness = fmt::format("qconform {}", kVersion);
  const qc_setup setup{sizeof(qc_setup), harness.c_str(), arguments.size(), arguments.get()};
  if (const int status = plugin.functions.open(&setup, &plugin.state, &room); status != QC_OK) {
    return fail(plugin_field(what), "does not open: " + why.text("without a reason"));
  }
  return std::make_unique<Plugin>(plugin, text_of(what));
}

// Says of a file that the system does not load what people mostly do wrong with it.
std::string why_not_loaded(const std::string& file, const char* error) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return "there is no such file";
  const std::string ending = std::filesystem::path(file).extension();
  if (ending == ".c" || ending == ".cc" || ending == ".cpp" || ending == ".cxx") {
    return fmt::format("this is source code; compile it first: c++ -std=c++20 -shared -fPIC -o libmine.so {}", file);
  }
  return error;
}

}  // namespace

Result<std::unique_ptr<Backend>> load_plugin(const Specification& what) {
  // A name without a slash would be looked up in the system's library folders.
  const std::string file = what.name.find('/') == std::string::npos ? "./" + what.name : what.name;
  // Never closed: the library may have left threads and exit handlers behind.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(plugin_field(what), why_not_loaded(file, dlerror()));
  void* entry = dlsym(library, "qconform_backend");
  if (entry == nullptr) {
    return fail(
        plugin_field(what),
        "exports no function qconform_backend; with qconform/node.hpp, QC_EXPORT_KERNEL(Class) at the end of the "
        "file does");
  }
  const qc_backend* functions = reinterpret_cast<decltype(&qconform_backend)>(entry)();
  if (functions == nullptr)
    return fail(plugin_field(what), "its qconform_backend returns a null pointer: it cannot work here");
  return open_plugin(*functions, what);
}

}  // namespace qconform::backend
