// Version 2 of harness/include/qconform/backend.h.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "harness/backends/plain_memory.h"
#include "harness/backends/plugin_versions.h"
#include "harness/base/aligned_bytes.h"
#include "harness/core/version.h"
#include "harness/graphs/wiring.h"
#include "harness/model/family.h"
#include "harness/model/operator.h"

namespace qconform::backend {
namespace {

struct PluginCapability {
  std::uint64_t bit;
  const char* name;
};
constexpr PluginCapability kPluginCapabilities[] = {{QC2_ASSUMES_VALID, "assumes-valid"},
                                                    {QC2_CHANNELS_LAST, "channels-last"},
                                                    {QC2_UNITS, "units"},
                                                    {QC2_SAME_INPUTS, "same-inputs"},
                                                    {QC2_NEEDS_CHANNELS_LAST, "needs-channels-last"}};

// Whether a tensor of a convolution goes to a library with its channels last.
bool can_turn(ElementType type, std::size_t rank) {
  return rank >= 3 && is_known(type) && bits_of(type) % 8 == 0;
}

// The last dimension goes behind the first, or back.
std::vector<std::int64_t> channels_last_shape(std::vector<std::int64_t> shape) {
  std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return shape;
}
std::vector<std::int64_t> channels_first_shape(std::vector<std::int64_t> shape) {
  std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

bool is_convolution(const Case& test_case) {
  const Family* family = family_of(test_case);
  return family != nullptr && family->name == "convolution";
}

// Room for what a library says, in the terms of version 2.
struct Reason2 {
  PluginReason reason{};
  qc2_reason room{sizeof(qc2_reason), reason.memory.data(), reason.memory.size()};
};

// Structs of one kind, and the list of pointers to them. They stay where they are.
template <typename T>
class PluginList {
 public:
  void add(T member) { list_.push_back(&members_.emplace_back(member)); }
  [[nodiscard]] const T* const* get() const { return list_.data(); }
  [[nodiscard]] std::size_t size() const { return list_.size(); }

 private:
  std::deque<T> members_;
  std::vector<const T*> list_;
};

// A case in the terms of version 2.
class PluginGraph {
 public:
  /// A graph whose names check_wiring() takes. `with_constants`: the data of weights and x too. `channels_last`: of
  /// convolutions that stand alone.
  PluginGraph(const Case& test_case, InputMemory& memory, bool with_constants, bool channels_last)
      : channels_last_(channels_last && is_convolution(test_case)) {
    for (std::size_t i = 0; i < test_case.inputs.size(); ++i) add_value(test_case, i, memory, with_constants);
    for (const Node& node : test_case.nodes) add_node(test_case, node);
    if (test_case.is_one_node()) outputs_ = node_values_.back();
    for (const std::string& name : test_case.outputs) outputs_.push_back(by_name_.at(name));
    graph_ = {sizeof(qc2_graph), values_.size(), values_.get(),   nodes_.size(),  nodes_.get(),
              inputs_.size(),    inputs_.data(), outputs_.size(), outputs_.data()};
  }
  PluginGraph(const PluginGraph&) = delete;
  PluginGraph& operator=(const PluginGraph&) = delete;

  [[nodiscard]] const qc2_graph* get() const { return &graph_; }
  /// The values of a run's inputs, which lie where `memory` has them.
  [[nodiscard]] const qc2_value* const* run_inputs() const { return run_inputs_.get(); }
  /// Whether outputs come with their channels last.
  [[nodiscard]] bool channels_last() const { return channels_last_; }

 private:
  // Its outputs are values of their own; inputs of a node that stands alone are the case's.
  void add_node(const Case& test_case, const Node& node) {
    auto& attributes = attributes_.emplace_back();
    for (const Attribute& attribute : node.attributes) attributes.add(attribute_for_plugin<qc2_attribute>(attribute));
    std::vector<std::int32_t>& inputs = test_case.is_one_node() ? case_values_ : node_values_.emplace_back();
    for (const std::string& name : node.inputs) inputs.push_back(name.empty() ? -1 : by_name_.at(name));
    std::vector<std::int32_t>& outputs = node_values_.emplace_back();
    for (std::size_t i = 0; i < std::max<std::size_t>(node.outputs.size(), 1); ++i) {
      const bool is_omitted = i < node.outputs.size() && node.outputs[i].empty();
      outputs.push_back(is_omitted ? -1 : static_cast<std::int32_t>(values_.size()));
      if (is_omitted) continue;
      if (i < node.outputs.size()) by_name_[node.outputs[i]] = outputs.back();
      values_.add({sizeof(qc2_value), QC2_COMPUTED, 0, -1, nullptr, nullptr, 0,
                   channels_last_ ? QC2_LAYOUT_CHANNELS_LAST : QC2_LAYOUT_ONNX});
    }
    nodes_.add({sizeof(qc2_node), node.op_type.c_str(), node.domain.c_str(), node.opset_version, attributes.size(),
                attributes.get(), inputs.size(), inputs.data(), outputs.size(), outputs.data()});
  }

  void add_value(const Case& test_case, std::size_t position, InputMemory& memory, bool with_constants) {
    if (!test_case.inputs[position]) {
      case_values_.push_back(-1);
      return;
    }
    const Tensor& tensor = *test_case.inputs[position];
    const InputRole role = role_of(test_case, position);
    qc2_value value{sizeof(qc2_value),
                    QC2_PARAMETER,
                    static_cast<std::int32_t>(tensor.type),
                    static_cast<std::int32_t>(tensor.shape.size()),
                    tensor.shape.data(),
                    nullptr,
                    tensor.bytes.size(),
                    QC2_LAYOUT_ONNX};
    const auto index = static_cast<std::int32_t>(values_.size());
    case_values_.push_back(index);
    if (position < test_case.input_names.size()) by_name_[test_case.input_names[position]] = index;
    if (role == InputRole::data) {
      inputs_.push_back(index);
      value.kind = QC2_INPUT;
    } else if (role == InputRole::weight) {
      value.kind = QC2_CONSTANT;
    }
    const bool turned = channels_last_ && value.kind != QC2_PARAMETER && can_turn(tensor.type, tensor.shape.size());
    if (turned) {
      value.layout = QC2_LAYOUT_CHANNELS_LAST;
      value.dims = turned_shapes_.emplace_back(channels_last_shape(tensor.shape)).data();
    }
    if (value.kind == QC2_PARAMETER || with_constants) {
      value.data = turned ? memory.converted(position, tensor.bytes.size(), 0, to_channels_last).data()
                          : memory.bytes(position).data();
    }
    if (role == InputRole::data) {
      run_inputs_.add(value);
      value.data = nullptr;
    }
    values_.add(value);
  }

  bool channels_last_;
  std::deque<std::vector<std::int64_t>> turned_shapes_;
  std::deque<PluginList<qc2_attribute>> attributes_;  // by node
  PluginList<qc2_value> values_;
  PluginList<qc2_value> run_inputs_;
  PluginList<qc2_node> nodes_;
  std::vector<std::int32_t> case_values_;              // of the case's tensors
  std::deque<std::vector<std::int32_t>> node_values_;  // inputs and outputs of each node
  std::map<std::string, std::int32_t, std::less<>> by_name_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> outputs_;
  qc2_graph graph_{};
};

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
void* allocate_output_2(void* context, std::size_t output, std::int32_t type, std::int32_t rank,
                        const std::int64_t* dims) {
  auto& outputs = *static_cast<RunOutputs*>(context);
  if (output >= outputs.count) return nullptr;
  // A library that asks twice has lost the first memory.
  std::erase_if(outputs.turned, [&](const TurnedOutput& earlier) { return earlier.output == output; });
  const auto element_type = static_cast<ElementType>(type);
  if (!outputs.channels_last || dims == nullptr || rank < 3 ||
      !can_turn(element_type, static_cast<std::size_t>(rank))) {
    return allocate_for_plugin(outputs.sink, output, type, rank, dims);
  }
  std::vector<std::int64_t> shape = channels_first_shape({dims, dims + rank});
  void* memory = allocate_for_plugin(outputs.sink, output, type, rank, shape.data());
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
std::string scratch_fault(const qc2_prepared& prepared) {
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
  qc2_backend functions{};
  void* state = nullptr;
};

class PreparedGraph final : public PreparedCase {
 public:
  PreparedGraph(const OpenPlugin& plugin, std::unique_ptr<PluginGraph> graph, const qc2_prepared& prepared)
      : plugin_(plugin), graph_(std::move(graph)), prepared_(prepared) {
    if (prepared_.scratch_alignment == 0) prepared_.scratch_alignment = 1;
  }
  ~PreparedGraph() override {
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
    Reason2 why;
    const qc2_run run{sizeof(qc2_run), graph_->get(), graph_->run_inputs(), scratch, &outputs, allocate_output_2};
    const int status = plugin_.functions.run(plugin_.state, prepared_.node, &run, &why.room);
    if (auto refusal = refusal_of(status, why.reason)) {
      std::visit([&](auto&& reason) { sink.refuse(std::forward<decltype(reason)>(reason)); }, std::move(*refusal));
    }
    return outputs;
  }

 private:
  const OpenPlugin& plugin_;
  std::unique_ptr<PluginGraph> graph_;
  qc2_prepared prepared_;
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
    std::size_t room = bytes + alignment;
    if (scratch_.bytes().size() != room) scratch_ = AlignedBytes(room);
    void* start = scratch_.bytes().data();
    return {static_cast<std::byte*>(std::align(alignment, bytes, start, room)), bytes};
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
  AlignedBytes scratch_;
  std::optional<Tensor> output_;
  std::optional<Outcome> refusal_;
};

// Turning y round is no part of the run.
class RepeatedGraph final : public RepeatedRun {
 public:
  RepeatedGraph(std::unique_ptr<PlainInputs> inputs, std::unique_ptr<PreparedGraph> prepared)
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
  std::unique_ptr<PreparedGraph> prepared_;
  SteadyMemory memory_;
  std::vector<TurnedOutput> turned_;
  bool is_turned_back_ = false;
};

class PluginOfVersion2 final : public Backend {
 public:
  PluginOfVersion2(const OpenPlugin& plugin, std::string backend_name) : plugin_(plugin) {
    const auto text = [](const char* given) { return std::string(given == nullptr ? "" : given); };
    const qc2_backend& functions = plugin_.functions;
    info_ = {std::move(backend_name), text(functions.name) + " " + text(functions.version), "plugin", true};
    info_.valid_only = (functions.capabilities & QC2_ASSUMES_VALID) != 0;
    info_.takes_other_inputs = (functions.capabilities & QC2_SAME_INPUTS) == 0;
    for (const PluginCapability& capability : kPluginCapabilities) {
      if ((functions.capabilities & capability.bit) != 0) info_.capabilities.emplace_back(capability.name);
    }
  }
  ~PluginOfVersion2() override {
    if (plugin_.functions.close != nullptr) plugin_.functions.close(plugin_.state);
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare_on_own_tensors(*this, test_case); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return prepare_as<Preparation>(test_case, inputs, [](std::unique_ptr<PreparedGraph> graph) { return graph; });
  }
  [[nodiscard]] std::optional<RepeatedPreparation> prepare_repeated(const Case& test_case,
                                                                    const RunSetting& /*wanted*/) override {
    if (test_case.output_count() != 1) return std::nullopt;
    auto inputs = std::make_unique<PlainInputs>(test_case);
    return prepare_as<RepeatedPreparation>(test_case, *inputs, [&](std::unique_ptr<PreparedGraph> graph) {
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
    const qc2_backend& functions = plugin_.functions;
    if (!test_case.is_one_node()) {
      if ((functions.capabilities & QC2_UNITS) == 0) return outcome::Unsupported{kTakesNoGraphs};
      if (const auto wired = check_wiring(test_case); !wired) return outcome::Rejected{wired.error().text()};
    }
    const bool channels_last = (functions.capabilities & QC2_NEEDS_CHANNELS_LAST) != 0;
    Reason2 why;
    if (functions.supports != nullptr) {
      const PluginGraph description(test_case, inputs, false, channels_last);
      const int status = functions.supports(plugin_.state, description.get(), &why.room);
      if (auto refusal = refusal_of(status, why.reason)) return refused(std::move(*refusal));
    }
    auto graph = std::make_unique<PluginGraph>(test_case, inputs, true, channels_last);
    qc2_prepared prepared{sizeof(qc2_prepared), nullptr, 0, 0};
    if (functions.prepare != nullptr) {
      const int status = functions.prepare(plugin_.state, graph->get(), &prepared, &why.room);
      if (auto refusal = refusal_of(status, why.reason)) return refused(std::move(*refusal));
    }
    return make(std::make_unique<PreparedGraph>(plugin_, std::move(graph), prepared));
  }

  OpenPlugin plugin_;
  BackendInfo info_;
};

// Copies the part of a library's struct that this qconform knows; members that the library lacks are 0.
qc2_backend known_part(const qc2_backend& functions) {
  qc2_backend known{};
  std::memcpy(&known, &functions, std::min(functions.size, sizeof known));
  return known;
}

}  // namespace

Result<std::unique_ptr<Backend>> plugin_of_version_2(const qc2_backend& functions, const Specification& what) {
  OpenPlugin plugin{known_part(functions), nullptr};
  if (plugin.functions.run == nullptr) {
    return fail(plugin_field(what), fmt::format("its qc2_backend of {} bytes has no function run", functions.size));
  }
  PluginList<qc2_argument> arguments;
  for (const Setting& setting : what.settings) {
    arguments.add({sizeof(qc2_argument), setting.key.c_str(), setting.value.c_str()});
  }
  if (plugin.functions.open == nullptr) {
    if (what.settings.empty()) return std::make_unique<PluginOfVersion2>(plugin, text_of(what));
    return fail(plugin_field(what), "takes no arguments, got " + what.settings.front().key);
  }
  Reason2 why;
  const std::string harness = fmt::format("qconform {}", kVersion);
  const qc2_setup setup{sizeof(qc2_setup), harness.c_str(), arguments.size(), arguments.get()};
  if (const int status = plugin.functions.open(&setup, &plugin.state, &why.room); status != QC_OK) {
    return fail(plugin_field(what), "does not open: " + why.reason.text("without a reason"));
  }
  return std::make_unique<PluginOfVersion2>(plugin, text_of(what));
}

}  // namespace qconform::backend
