// Tensors by name in a file without a name: as many as the disk holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/process.h"
#include "harness/core/tensor.h"

namespace onnx {
class GraphProto;
}

namespace qconform {

/// Only tensors that are read take memory. The file lies among the system's temporary ones and goes with its last
/// owner; a process shares it with its forks, which write one after the other.
class TensorFile {
 public:
  TensorFile() = default;  ///< empty, and nothing can be added
  /// Errors: no file can be made.
  [[nodiscard]] static Result<TensorFile> open();

  /// Writes the tensor behind the others; a name that is there already keeps its first tensor. Errors: it does not fit.
  [[nodiscard]] Result<void> add(const std::string& name, const Tensor& tensor);
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] bool contains(const std::string& name) const { return entries_.contains(name); }
  /// Errors: no tensor of that name; the file cannot be read, or ends before the tensor.
  [[nodiscard]] Result<Tensor> read(const std::string& name) const;

  /// Adds the names, types and shapes of all tensors to the graph's values, for a process that shares the file.
  void write_index(onnx::GraphProto& graph) const;
  /// Takes over the index of a process that has written to this file. Errors: it is damaged.
  [[nodiscard]] Result<void> take_index(const onnx::GraphProto& graph);

 private:
  struct Entry {
    ElementType type;
    std::vector<std::int64_t> shape;
    std::int64_t offset;
  };

  explicit TensorFile(Descriptor file) : file_(std::move(file)) {}
  [[nodiscard]] Result<std::int64_t> enter(const std::string& name, ElementType type, std::vector<std::int64_t> shape);

  Descriptor file_;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> names_;  // in the order of the file
  std::int64_t end_ = 0;
};

}  // namespace qconform
