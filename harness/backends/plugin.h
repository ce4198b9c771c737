// The C interface of plugins as the harness fills it: what a library says, and a case in the interface's terms.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "harness/core/backend.h"
#include "harness/include/qconform/backend.h"

namespace qconform::backend {

/// The reason that a function of a library gives beside its status.
class PluginReason {
 public:
  static constexpr std::size_t kBytes = 512;

  /// The reason on one line, or `otherwise` where none was given.
  [[nodiscard]] std::string text(const char* otherwise);
  /// The room into which the library writes it; valid as long as this.
  [[nodiscard]] qc_reason room() { return {sizeof(qc_reason), memory_.data(), memory_.size()}; }

 private:
  std::array<char, kBytes> memory_{};
};

using PluginRefusal = std::variant<outcome::Unsupported, outcome::Rejected, outcome::BrokenInterface>;

/// The refusal that a status means; none for QC_OK. A status that backend.h does not define is a broken interface.
[[nodiscard]] std::optional<PluginRefusal> refusal_of(int status, PluginReason& reason);

/// Whether a tensor of a convolution goes to a library with its channels last.
[[nodiscard]] bool can_turn(ElementType type, std::size_t rank);
/// The shape of a tensor whose dimensions are stated with its channels last.
[[nodiscard]] std::vector<std::int64_t> channels_first_shape(std::vector<std::int64_t> shape);

/// Structs of one kind, and the list of pointers to them. They stay where they are.
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

/// A case in the terms of the interface. It points into the case and its memory.
class PluginGraph {
 public:
  /// A graph whose names check_wiring() takes. `with_constants`: the data of weights and x too. `channels_last`: of
  /// convolutions that stand alone.
  PluginGraph(const Case& test_case, InputMemory& memory, bool with_constants, bool channels_last);
  PluginGraph(const PluginGraph&) = delete;
  PluginGraph& operator=(const PluginGraph&) = delete;

  [[nodiscard]] const qc_graph* get() const { return &graph_; }
  /// The values of a run's inputs, which lie where `memory` has them.
  [[nodiscard]] const qc_value* const* run_inputs() const { return run_inputs_.get(); }
  /// Whether outputs come with their channels last.
  [[nodiscard]] bool channels_last() const { return channels_last_; }

 private:
  void add_node(const Node& node);
  void add_value(const Case& test_case, std::size_t position, const std::string& name, InputMemory& memory,
                 bool with_constants);

  bool channels_last_;
  std::vector<Node> named_;
  std::deque<std::vector<std::int64_t>> turned_shapes_;
  std::deque<PluginList<qc_attribute>> attributes_;  // by node
  PluginList<qc_value> values_;
  PluginList<qc_value> run_inputs_;
  PluginList<qc_node> nodes_;
  std::deque<std::vector<std::int32_t>> node_values_;  // inputs and outputs of each node
  std::map<std::string, std::int32_t, std::less<>> by_name_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> outputs_;
  qc_graph graph_{};
};

}  // namespace qconform::backend
