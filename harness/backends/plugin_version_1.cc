// Version 1 of harness/include/qconform/backend.h.
#include <utility>
#include <vector>

#include "harness/backends/plugin_versions.h"

namespace qconform::backend {
namespace {

// A case in the terms of version 1.
class PluginNode {
 public:
  PluginNode(const Case& test_case, InputMemory* memory) {
    for (const Attribute& attribute : test_case.node().attributes)
      attributes_.push_back(attribute_for_plugin<qc_attribute>(attribute));
    tensors_.reserve(test_case.inputs.size());
    for (std::size_t i = 0; i < test_case.inputs.size(); ++i) {
      const auto& input = test_case.inputs[i];
      if (!input) {
        inputs_.push_back(nullptr);
        continue;
      }
      const std::byte* data = memory == nullptr ? input->bytes.data() : memory->bytes(i).data();
      tensors_.push_back({static_cast<std::int32_t>(input->type), static_cast<std::int32_t>(input->shape.size()),
                          input->shape.data(), data, input->bytes.size()});
      inputs_.push_back(&tensors_.back());
    }
    node_ = {test_case.node().op_type.c_str(),
             test_case.node().domain.c_str(),
             test_case.node().opset_version,
             attributes_.size(),
             attributes_.data(),
             inputs_.size(),
             inputs_.data()};
  }
  PluginNode(const PluginNode&) = delete;
  PluginNode& operator=(const PluginNode&) = delete;

  [[nodiscard]] const qc_node* get() const { return &node_; }

 private:
  std::vector<qc_attribute> attributes_;
  std::vector<qc_tensor> tensors_;
  std::vector<const qc_tensor*> inputs_;
  qc_node node_{};
};

void* allocate_output(void* context, std::int32_t type, std::int32_t rank, const std::int64_t* dims) {
  return allocate_for_plugin(*static_cast<OutputSink*>(context), 0, type, rank, dims);
}

class PreparedPlugin final : public PreparedCase {
 public:
  PreparedPlugin(const qc_backend& functions, std::unique_ptr<PluginNode> node, void* prepared)
      : functions_(functions), node_(std::move(node)), prepared_(prepared) {}
  ~PreparedPlugin() override {
    if (functions_.release != nullptr) functions_.release(prepared_);
  }

  void run(OutputSink& sink) override {
    PluginReason reason;
    qc_reason room{reason.memory.data(), reason.memory.size()};
    const qc_output output{&sink, allocate_output};
    const int status = functions_.run(node_->get(), prepared_, &output, &room);
    if (auto refusal = refusal_of(status, reason)) {
      std::visit([&](auto&& why) { sink.refuse(std::forward<decltype(why)>(why)); }, std::move(*refusal));
    }
  }

 private:
  const qc_backend& functions_;
  std::unique_ptr<PluginNode> node_;
  void* prepared_;
};

class PluginOfVersion1 final : public Backend {
 public:
  PluginOfVersion1(const qc_backend& functions, std::string backend_name) : functions_(functions) {
    const auto text = [](const char* given) { return std::string(given == nullptr ? "" : given); };
    info_ = {std::move(backend_name), (text(functions.name) + " " + text(functions.version)), "plugin", true};
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] Preparation prepare(const Case& test_case) override { return prepare(test_case, nullptr); }
  [[nodiscard]] Preparation prepare_at(const Case& test_case, InputMemory& inputs) override {
    return prepare(test_case, &inputs);
  }

 private:
  Preparation prepare(const Case& test_case, InputMemory* inputs) {
    if (!test_case.is_one_node()) return outcome::Unsupported{kTakesNoGraphs};
    auto node = std::make_unique<PluginNode>(test_case, inputs);
    const auto refused = [](PluginRefusal refusal) {
      return std::visit([](auto&& why) { return Preparation(std::forward<decltype(why)>(why)); }, std::move(refusal));
    };
    PluginReason reason;
    qc_reason room{reason.memory.data(), reason.memory.size()};
    if (functions_.supports != nullptr) {
      if (auto refusal = refusal_of(functions_.supports(node->get(), &room), reason)) return refused(*refusal);
    }
    void* prepared = nullptr;
    if (functions_.prepare != nullptr) {
      const int status = functions_.prepare(node->get(), &prepared, &room);
      if (auto refusal = refusal_of(status, reason)) return refused(*refusal);
    }
    return std::make_unique<PreparedPlugin>(functions_, std::move(node), prepared);
  }

  const qc_backend& functions_;
  BackendInfo info_;
};

}  // namespace

Result<std::unique_ptr<Backend>> plugin_of_version_1(const qc_backend& functions, const Specification& what) {
  if (functions.run == nullptr) return fail(plugin_field(what), "its qc_backend has no function run");
  if (!what.settings.empty()) {
    return fail(plugin_field(what), "takes no arguments, which version 1 of qconform/backend.h has none of, got " +
                                        what.settings.front().key);
  }
  return std::make_unique<PluginOfVersion1>(functions, text_of(what));
}

}  // namespace qconform::backend
