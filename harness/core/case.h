// A test case: a small graph, of one operator node in most, with its tensors and what is expected of it, and its
// picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/core/fields.h"
#include "harness/core/tensor.h"

namespace qconform {

/// A node attribute, by ONNX's name. The value's type is kept even where it is not the one that the
/// operator defines, so that a case can be wrong on purpose.
struct Attribute {
  using Value = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                             std::vector<std::string>>;
  std::string name;
  Value value;
  bool operator==(const Attribute&) const = default;
};

/// Says how a right implementation answers the case.
enum class Expectation : std::uint8_t {
  unstated,                ///< the source makes no claim; the rules decide
  valid,                   ///< must be computed; a clean refusal counts as unsupported
  implementation_defined,  ///< the right value or a clean error
  invalid,                 ///< must be refused with a clear error
};

/// The origin of a case, so that it can be made again.
struct Provenance {
  std::string source;       ///< "random", "corpus/qlinear_conv/padding.json", "onnx:test_qlinearconv"
  std::uint64_t seed = 0;   ///< seed of the run; 0 where nothing is random
  std::uint64_t index = 0;  ///< position within the source
  bool operator==(const Provenance&) const = default;
};

/// One operator of a graph.
struct Node {
  std::string op_type;  ///< "QLinearConv"
  std::string domain;   ///< "" is ONNX's own
  std::int64_t opset_version = 0;
  std::vector<Attribute> attributes;
  /// The values that it reads, by position, and those that it computes: "" for an omitted one. Both are empty where the
  /// case leaves names out.
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};

  bool operator==(const Node&) const = default;

  /// Returns the attribute of that name, or null.
  [[nodiscard]] const Attribute* attribute(std::string_view name) const;
  /// Returns the attribute's value; null where it is absent or of another type.
  template <typename T>
  [[nodiscard]] const T* get(std::string_view name) const {
    const Attribute* found = attribute(name);
    return found == nullptr ? nullptr : std::get_if<T>(&found->value);
  }
  /// Returns the attribute's value; `absent` where it is absent or of another type.
  template <typename T>
  [[nodiscard]] T get_or(std::string_view name, T absent) const {
    const T* found = get<T>(name);
    return found == nullptr ? std::move(absent) : *found;
  }
};

enum class VerdictKind : std::uint8_t;  // verdict.h

/// The answer of a backend that had the defect which a case guards against.
struct DefectAnswer {
  VerdictKind verdict{};          ///< a failing kind
  std::vector<Tensor> outputs{};  ///< computed outputs, right shapes or not; none where it crashed, say
  bool operator==(const DefectAnswer&) const = default;
};

/// The name of the operator that judges graphs (Operator::judges_graphs), under which reports count cases of several
/// nodes.
inline constexpr std::string_view kGraphSubject = "Graph";

/// A small ONNX graph with its tensors, and what is expected of it. An operator is a graph of one node. Every value has
/// a name: a node that is judged by itself leaves the names out, because they are its operator's own. named_nodes(),
/// input_names() and output_names() of harness/model/operator.h tell the names of every case;
/// harness/graphs/case_graph.h says how they must fit together.
struct Case {
  std::string id;  ///< unique within its source; names files and replay lines
  /// The nodes in topological order, never empty. A node that leaves names out reads the case's tensors in their order
  /// and has one output.
  std::vector<Node> nodes = std::vector<Node>(1);
  /// The tensors that no node computes: the inputs of the graph, then its initializers. Where names are left out, the
  /// inputs of the node, positional as in ONNX: nullopt stands for the empty string of an omitted optional input;
  /// trailing omitted inputs are kept if the source states them.
  std::vector<std::optional<Tensor>> inputs;
  std::vector<std::string> input_names = {};  ///< names of `inputs`; empty where they are left out
  std::size_t fed_inputs = 0;                 ///< how many of `inputs` are the graph's; 0 where names are left out
  std::vector<std::string> outputs = {};      ///< outputs of the graph; empty where names are left out
  /// Names of outputs that are not judged: a node computes them inside, and others are judged by what they show, of
  /// which they are a sample. A reader that leaves this out judges more.
  std::vector<std::string> shown_outputs = {};
  std::vector<Tensor> recorded_outputs = {};  ///< the answers that the source states: none, or one for each output
  std::optional<DefectAnswer> defect = {};    ///< the answer that a defect gave once: a right answer proves that a
                                              ///< backend lacks the defect
  /// Cases that run first in the same process, once each, in this order, where a backend answers otherwise after them;
  /// they have none before them. The case itself is judged, alone and after them.
  std::vector<Case> before = {};

  Expectation expectation = Expectation::unstated;
  std::vector<std::string> rules;  ///< ids of the rules that the case is about
  std::vector<std::string> tags;
  std::string note;  ///< one line for the reader
  Provenance provenance;

  bool operator==(const Case&) const = default;

  /// The only node; the first where there are several.
  [[nodiscard]] Node& node() { return nodes.front(); }
  [[nodiscard]] const Node& node() const { return nodes.front(); }
  /// The nodes' operators: "QLinearConv"; "DequantizeLinear+Conv+QuantizeLinear".
  [[nodiscard]] std::string op_types() const;
  /// The name under which reports count the case: the operator of its only node, or kGraphSubject.
  [[nodiscard]] std::string subject() const;
  [[nodiscard]] std::size_t output_count() const { return leaves_names_out() ? 1 : outputs.size(); }
  /// An attribute of the only node, or null.
  [[nodiscard]] const Attribute* attribute(std::string_view name) const { return node().attribute(name); }
  /// The tensor at `position`, or null when it is omitted or beyond the end.
  [[nodiscard]] const Tensor* input(std::size_t position) const;
  /// The stated answer of a case of one output, or null.
  [[nodiscard]] const Tensor* recorded_output() const {
    return recorded_outputs.size() == 1 ? &recorded_outputs.front() : nullptr;
  }

 private:
  friend std::uint64_t digest_of(const Case& test_case);

  [[nodiscard]] bool leaves_names_out() const { return nodes.size() == 1 && nodes.front().outputs.empty(); }
};

/// Removes what is known of the case's answers: a case that is made from another has others.
void forget_answers(Case& test_case);

/// The computation alone, with the case's id: nodes, tensors and their names, and nothing that is expected, said or
/// run before it.
[[nodiscard]] Case computation_of(const Case& test_case);

[[nodiscard]] std::string_view name_of(Expectation expectation);
[[nodiscard]] std::optional<Expectation> expectation_named(std::string_view name);

/// Bytes of the case's tensors that no node computes.
[[nodiscard]] std::uint64_t input_bytes(const Case& test_case);

/// A 64-bit fingerprint of what the case computes: nodes, their versions and attributes, inputs. The same
/// on every machine and compiler; ids, notes and expectations do not enter. Cases before it do.
[[nodiscard]] std::uint64_t digest_of(const Case& test_case);

// A case of several nodes as a report shows it.

struct CaseGraph {
  /// Tensors of more elements are shown without them.
  static constexpr std::int64_t kMostElements = 8;

  using Attributes = std::map<std::string, std::string>;

  struct Node {
    QC_DESCRIBED();
    QC_FIELD(std::string, op_type, {}, "op_type");
    QC_FIELD(std::string, domain, {}, "domain", .doc = "Absent of ONNX's own.", .presence = Presence::omitted);
    QC_FIELD(Attributes, attributes, {}, "attributes", .doc = "For the reader: \"[1,0,1,0]\".",
             .presence = Presence::omitted);
    QC_FIELD(std::vector<std::string>, inputs, {}, "inputs", .doc = "Names of values; empty for an omitted one.",
             .def = "texts");
    QC_FIELD(std::vector<std::string>, outputs, {}, "outputs", .doc = "Names of values; empty for an omitted one.",
             .def = "texts");

    bool operator==(const Node&) const = default;
  };

  struct Value {
    QC_DESCRIBED(.name = "graph_value");
    QC_FIELD(std::string, name, {}, "name");
    QC_FIELD(std::string, type, {}, "type");
    QC_FIELD(std::vector<std::int64_t>, shape, {}, "shape", .def = "index");
    QC_FIELD(std::vector<std::string>, data, {}, "data", .doc = "Absent of more than eight elements.",
             .presence = Presence::omitted, .def = "texts");

    bool operator==(const Value&) const = default;
  };

  QC_DESCRIBED(.doc =
                   "A graph of several nodes: the case's, or what the backend computes in its place. Absent of one "
                   "node, and of backends that do not show what they compute.");
  QC_FIELD(std::vector<Node>, nodes, {}, "nodes", .doc = "In topological order.");
  QC_FIELD(std::vector<Value>, inputs, {}, "inputs", .doc = "What is fed.");
  QC_FIELD(std::vector<Value>, initializers, {}, "initializers");
  QC_FIELD(std::vector<Value>, computed, {}, "computed",
           .doc = "Those that nodes compute, without data; empty where the case is out of contract.");
  QC_FIELD(std::vector<std::string>, outputs, {}, "outputs", .doc = "Names of values.", .def = "texts");

  bool operator==(const CaseGraph&) const = default;
};

}  // namespace qconform
