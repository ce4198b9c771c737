#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/base/text.h"
#include "harness/onnx/graph_scope.h"

namespace qconform {
namespace {

using AttributeMap = std::map<std::string, const onnx::AttributeProto*>;

// Fields that came to ONNX after 1.12, by their numbers in onnx.proto.
constexpr int kDefaultAttributes = 11;  // FunctionProto.attribute_proto
constexpr int kFunctionOverload = 13;   // FunctionProto.overload
constexpr int kNodeOverload = 8;        // NodeProto.overload

constexpr std::size_t kDeepestCalls = 64;
constexpr std::size_t kMostInlinedNodes = std::size_t{1} << 18;

template <typename Use>
void for_each_unknown(const google::protobuf::Message& message, int number, Use use) {
  const auto& fields = message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField& field = fields.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) {
      use(field.length_delimited());
    }
  }
}

std::string overload_of(const google::protobuf::Message& message, int number) {
  std::string overload;
  for_each_unknown(message, number, [&](const std::string& text) { overload = text; });
  return overload;
}

std::string domain_of(const std::string& stated) {
  return stated == "ai.onnx" ? "" : stated;
}

struct CalledFunction {
  const onnx::FunctionProto* proto = nullptr;
  std::vector<onnx::AttributeProto> defaults;
};

// Names of a function's values in the graph that calls it.
struct CallNames {
  std::map<std::string, std::string> actual;  // of its inputs and outputs
  std::string prefix;                         // of the others

  [[nodiscard]] std::string operator()(const std::string& name) const {
    if (name.empty()) return name;
    const auto found = actual.find(name);
    return found != actual.end() ? found->second : prefix + name;
  }
};

void write_names(const CallNames& names, onnx::GraphProto& body);

// Renames what the body's node reads and computes, and gives it the attributes of the call.
void write_call(const CallNames& names, const AttributeMap& attributes, onnx::NodeProto& node) {
  for (std::string& name : *node.mutable_input()) name = names(name);
  for (std::string& name : *node.mutable_output()) name = names(name);
  if (!node.name().empty()) node.set_name(names.prefix + node.name());
  auto& own = *node.mutable_attribute();
  for (int i = 0; i < own.size();) {
    onnx::AttributeProto& attribute = own[i];
    if (attribute.ref_attr_name().empty()) {
      ++i;
    } else if (const auto stated = attributes.find(attribute.ref_attr_name()); stated != attributes.end()) {
      const std::string name = attribute.name();
      attribute = *stated->second;
      attribute.set_name(name);
      ++i;
    } else {
      own.DeleteSubrange(i, 1);
    }
  }
  for (onnx::AttributeProto& attribute : own) {
    const auto write_body = [&](onnx::GraphProto& body) {
      write_names(names, body);
      for (onnx::NodeProto& inner : *body.mutable_node()) write_call(names, attributes, inner);
    };
    if (attribute.has_g()) write_body(*attribute.mutable_g());
    for (onnx::GraphProto& body : *attribute.mutable_graphs()) write_body(body);
  }
}

void write_names(const CallNames& names, onnx::GraphProto& body) {
  for (auto* infos : {body.mutable_input(), body.mutable_output(), body.mutable_value_info()}) {
    for (onnx::ValueInfoProto& info : *infos) info.set_name(names(info.name()));
  }
  for (onnx::TensorProto& tensor : *body.mutable_initializer()) tensor.set_name(names(tensor.name()));
}

class Inliner {
 public:
  explicit Inliner(onnx::ModelProto& model) : model_(model) {
    for (const onnx::OperatorSetIdProto& opset : model.opset_import())
      opsets_[domain_of(opset.domain())] = opset.version();
    for (const onnx::FunctionProto& proto : model.functions()) add(proto);
    note_names(model.graph());
  }

  Result<void> write(onnx::GraphProto& graph, std::size_t depth = 0);

  [[nodiscard]] bool takes_all() const {
    return functions_.size() == static_cast<std::size_t>(model_.functions_size());
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;  // domain, operator, overload

  void add(const onnx::FunctionProto& proto);
  void note_names(const onnx::GraphProto& graph);
  [[nodiscard]] const CalledFunction* called_by(const onnx::NodeProto& node) const;
  [[nodiscard]] std::string new_prefix(const onnx::NodeProto& call);
  void write_body(const CalledFunction& function, const onnx::NodeProto& call, onnx::GraphProto& body);
  Result<void> write_bodies(onnx::NodeProto& node, std::size_t depth);

  onnx::ModelProto& model_;
  std::map<std::string, std::int64_t> opsets_;
  std::map<Key, CalledFunction> functions_;
  std::set<std::string> names_;
  std::map<std::string, std::size_t> calls_;  // prefixes that begin with a name and are taken
  std::size_t written_ = 0;
};

// A function whose operators have other versions than the model's stays: its nodes would mean something else there.
void Inliner::add(const onnx::FunctionProto& proto) {
  for (const onnx::OperatorSetIdProto& opset : proto.opset_import()) {
    const auto [known, is_new] = opsets_.emplace(domain_of(opset.domain()), opset.version());
    if (!is_new && known->second != opset.version()) return;
    if (is_new) *model_.add_opset_import() = opset;
  }
  CalledFunction function{&proto, {}};
  for_each_unknown(proto, kDefaultAttributes, [&](const std::string& bytes) {
    onnx::AttributeProto attribute;
    if (attribute.ParseFromString(bytes)) function.defaults.push_back(std::move(attribute));
  });
  functions_.emplace(Key{domain_of(proto.domain()), proto.name(), overload_of(proto, kFunctionOverload)},
                     std::move(function));
}

void Inliner::note_names(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    names_.insert(node.name());
    names_.insert(node.input().begin(), node.input().end());
    names_.insert(node.output().begin(), node.output().end());
  }
  for (const auto* infos : {&graph.input(), &graph.output()}) {
    for (const onnx::ValueInfoProto& info : *infos) names_.insert(info.name());
  }
  for (const onnx::TensorProto& tensor : graph.initializer()) names_.insert(tensor.name());
  for (const onnx::GraphProto* body : bodies_of(graph)) note_names(*body);
}

const CalledFunction* Inliner::called_by(const onnx::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(Key{domain_of(node.domain()), node.op_type(), overload_of(node, kNodeOverload)});
  return found == functions_.end() ? nullptr : &found->second;
}

// Begins no name of the model.
std::string Inliner::new_prefix(const onnx::NodeProto& call) {
  const std::string stem = call.name().empty() ? call.op_type() : call.name();
  for (std::size_t& i = calls_[stem];; ++i) {
    std::string prefix = stem + (i == 0 ? "" : "#" + std::to_string(i)) + "/";
    const auto next = names_.lower_bound(prefix);
    if (next != names_.end() && next->starts_with(prefix)) continue;
    names_.insert(prefix);
    return prefix;
  }
}

void Inliner::write_body(const CalledFunction& function, const onnx::NodeProto& call, onnx::GraphProto& body) {
  const onnx::FunctionProto& proto = *function.proto;
  CallNames names{{}, new_prefix(call)};
  const auto passed = [](const auto& list, int i) { return i < list.size() ? list[i] : std::string(); };
  for (int i = 0; i < proto.input_size(); ++i) names.actual[proto.input(i)] = passed(call.input(), i);
  std::vector<std::pair<std::string, std::string>> handed_through;  // inputs that are outputs as they are
  for (int i = 0; i < proto.output_size(); ++i) {
    const std::string output = passed(call.output(), i);
    if (output.empty()) continue;
    const auto [known, is_new] = names.actual.emplace(proto.output(i), output);
    if (!is_new) handed_through.emplace_back(known->second, output);
  }
  AttributeMap attributes;
  for (const onnx::AttributeProto& attribute : function.defaults) attributes[attribute.name()] = &attribute;
  for (const onnx::AttributeProto& attribute : call.attribute()) attributes[attribute.name()] = &attribute;
  for (const onnx::NodeProto& node : proto.node()) {
    onnx::NodeProto& written = *body.add_node();
    written = node;
    write_call(names, attributes, written);
  }
  for (const auto& [input, output] : handed_through) {
    onnx::NodeProto& node = *body.add_node();
    node.set_op_type("Identity");
    node.add_input(input);
    node.add_output(output);
  }
}

Result<void> Inliner::write_bodies(onnx::NodeProto& node, std::size_t depth) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) QCONFORM_TRY(write(*attribute.mutable_g(), depth));
    for (onnx::GraphProto& body : *attribute.mutable_graphs()) QCONFORM_TRY(write(body, depth));
  }
  return {};
}

Result<void> Inliner::write(onnx::GraphProto& graph, std::size_t depth) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> calls;
  calls.Swap(graph.mutable_node());
  for (onnx::NodeProto& node : calls) {
    const CalledFunction* const function = called_by(node);
    if (function == nullptr) {
      QCONFORM_TRY(write_bodies(node, depth));
      *graph.add_node() = std::move(node);
      continue;
    }
    const std::string what = "function " + quoted_name(node.op_type());
    if (depth == kDeepestCalls) return fail("", what + " is called within itself, or too deep");
    written_ += static_cast<std::size_t>(function->proto->node_size());
    if (written_ > kMostInlinedNodes) {
      return fail("", what + ": the functions' nodes are more than " + std::to_string(kMostInlinedNodes), "limit");
    }
    onnx::GraphProto body;
    write_body(*function, node, body);
    QCONFORM_TRY(write(body, depth + 1));
    for (onnx::NodeProto& inner : *body.mutable_node()) *graph.add_node() = std::move(inner);
  }
  return {};
}

}  // namespace

Result<void> inline_functions(onnx::ModelProto& model) {
  if (model.functions_size() == 0 || !model.has_graph()) return {};
  Inliner inliner(model);
  QCONFORM_TRY(inliner.write(*model.mutable_graph()));
  if (inliner.takes_all()) model.clear_functions();
  return {};
}

}  // namespace qconform
