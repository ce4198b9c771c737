#include "harness/backends/plugin.h"

#include <dlfcn.h>

#include <array>
#include <utility>

#include "harness/include/qconform/backend.h"

namespace qconform::backend {
namespace {

constexpr std::size_t kReasonBytes = 512;

static_assert(QC_FLOAT8E8M0 == static_cast<int>(ElementType::float8e8m0));
static_assert(QC_INT2 == static_cast<int>(ElementType::int2));

class Reason {
 public:
  [[nodiscard]] qc_reason* get() { return &reason_; }
  [[nodiscard]] std::string text(const char* otherwise) {
    text_.back() = '\0';
    return text_.front() == '\0' ? otherwise : text_.data();
  }

 private:
  std::array<char, kReasonBytes> text_{};
  qc_reason reason_{text_.data(), text_.size()};
};

// The refusal that a status means; none for QC_OK.
std::optional<std::variant<outcome::Unsupported, outcome::Rejected>> refusal_of(int status, Reason& reason) {
  switch (status) {
    case QC_OK: return std::nullopt;
    case QC_UNSUPPORTED: return outcome::Unsupported{reason.text("unsupported, without a reason")};
    case QC_REJECTED: return outcome::Rejected{reason.text("rejected, without a reason")};
    default: break;
  }
  return outcome::Unsupported{"status " + std::to_string(status) +
                              ", which qconform/backend.h does not know: " + reason.text("no reason")};
}

// A case in the terms of the C interface.
class Node {
 public:
  Node(const Case& test_case, InputMemory* memory) {
    for (const Attribute& attribute : test_case.attributes) attributes_.push_back(translated(attribute));
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
    node_ = {test_case.op_type.c_str(), test_case.domain.c_str(), test_case.opset_version, attributes_.size(),
             attributes_.data(),        inputs_.size(),           inputs_.data()};
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] const qc_node* get() const { return &node_; }

 private:
  static qc_attribute translated(const Attribute& attribute) {
    qc_attribute result{};
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

  std::vector<qc_attribute> attributes_;
  std::vector<qc_tensor> tensors_;
  std::vector<const qc_tensor*> inputs_;
  qc_node node_{};
};

void* allocate_output(void* context, std::int32_t type, std::int32_t rank, const std::int64_t* dims) {
  if (rank < 0 || (rank > 0 && dims == nullptr)) return nullptr;
  const std::span<const std::int64_t> shape(dims, static_cast<std::size_t>(rank));
  const auto element_type = static_cast<ElementType>(type);
  if (!checked_bytes("y", element_type, shape)) return nullptr;
  return static_cast<OutputSink*>(context)->allocate(element_type, shape).data();
}

class PreparedPlugin final : public PreparedCase {
 public:
  PreparedPlugin(const qc_backend& functions, std::unique_ptr<Node> node, void* prepared)
      : functions_(functions), node_(std::move(node)), prepared_(prepared) {}
  ~PreparedPlugin() override {
    if (functions_.release != nullptr) functions_.release(prepared_);
  }

  void run(OutputSink& sink) override {
    Reason reason;
    const qc_output output{&sink, allocate_output};
    const int status = functions_.run(node_->get(), prepared_, &output, reason.get());
    if (auto refusal = refusal_of(status, reason)) {
      std::visit([&](auto&& why) { sink.refuse(std::forward<decltype(why)>(why)); }, std::move(*refusal));
    }
  }

 private:
  const qc_backend& functions_;
  std::unique_ptr<Node> node_;
  void* prepared_;
};

class Plugin final : public Backend {
 public:
  Plugin(const qc_backend& functions, std::string backend_name) : functions_(functions) {
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
    auto node = std::make_unique<Node>(test_case, inputs);
    const auto refused = [](std::variant<outcome::Unsupported, outcome::Rejected> refusal) {
      return std::visit([](auto&& why) { return Preparation(std::forward<decltype(why)>(why)); }, std::move(refusal));
    };
    Reason reason;
    if (functions_.supports != nullptr) {
      if (auto refusal = refusal_of(functions_.supports(node->get(), reason.get()), reason)) return refused(*refusal);
    }
    void* prepared = nullptr;
    if (functions_.prepare != nullptr) {
      const int status = functions_.prepare(node->get(), &prepared, reason.get());
      if (auto refusal = refusal_of(status, reason)) return refused(*refusal);
    }
    return std::make_unique<PreparedPlugin>(functions_, std::move(node), prepared);
  }

  const qc_backend& functions_;
  BackendInfo info_;
};

}  // namespace

Result<std::unique_ptr<Backend>> load_plugin(const Specification& what) {
  const std::string& path = what.name;
  const std::string field = "plugin:" + path;
  // A name without a slash would be looked up in the system's library folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  // Never closed: the library may have left threads and exit handlers behind.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(field, dlerror());
  const auto entry = reinterpret_cast<decltype(&qconform_backend)>(dlsym(library, "qconform_backend"));
  if (entry == nullptr) return fail(field, "exports no function qconform_backend");
  const qc_backend* functions = entry(QC_ABI_VERSION);
  if (functions == nullptr) {
    return fail(field, "does not work with version " + std::to_string(QC_ABI_VERSION) + " of qconform/backend.h");
  }
  if (functions->abi_version != QC_ABI_VERSION) {
    return fail(field, "built for version " + std::to_string(functions->abi_version) +
                           " of qconform/backend.h, expected " + std::to_string(QC_ABI_VERSION));
  }
  if (functions->run == nullptr) return fail(field, "its qc_backend has no function run");
  if (!what.settings.empty()) {
    return fail(field, "version 1 of qconform/backend.h has no arguments, and got " + what.settings.front().key);
  }
  return std::make_unique<Plugin>(*functions, text_of(what));
}

}  // namespace qconform::backend
