// A case of several nodes as a report shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/core/fields.h"

namespace qconform {

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
    QC_FIELD(std::vector<std::string>, outputs, {}, "outputs", .doc = "Likewise.", .def = "texts");

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
                   "node, of backends that do not show what they compute, and in older reports.");
  QC_FIELD(std::vector<Node>, nodes, {}, "nodes", .doc = "In topological order.");
  QC_FIELD(std::vector<Value>, inputs, {}, "inputs", .doc = "What is fed.");
  QC_FIELD(std::vector<Value>, initializers, {}, "initializers");
  QC_FIELD(std::vector<Value>, computed, {}, "computed",
           .doc = "Those that nodes compute, without data; empty where the case is out of contract.");
  QC_FIELD(std::vector<std::string>, outputs, {}, "outputs", .doc = "Names of values.", .def = "texts");

  bool operator==(const CaseGraph&) const = default;
};

}  // namespace qconform
