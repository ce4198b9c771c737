#include "harness/onnx/tensor_file.h"

#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "harness/onnx/graph_scope.h"
#include "harness/onnx/protobuf.h"

namespace qconform {
namespace {

constexpr const char* kField = "the file of activations";

std::string system_error() {
  return std::generic_category().message(errno);
}

}  // namespace

Result<TensorFile> TensorFile::open() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) return fail("TMPDIR", error.message());
  std::string path = (folder / "qconform-activations-XXXXXX").string();
  Descriptor file(::mkstemp(path.data()));
  if (file.get() < 0) return fail(folder.string(), "takes no temporary file: " + system_error());
  ::unlink(path.c_str());
  return TensorFile(std::move(file));
}

Result<std::int64_t> TensorFile::enter(const std::string& name, ElementType type, std::vector<std::int64_t> shape) {
  QCONFORM_ASSIGN(const std::int64_t bytes, checked_bytes(name, type, shape));
  entries_[name] = {type, std::move(shape), end_};
  names_.push_back(name);
  end_ += bytes;
  return bytes;
}

Result<void> TensorFile::add(const std::string& name, const Tensor& tensor) {
  if (contains(name)) return {};
  if (::lseek(file_.get(), end_, SEEK_SET) != end_) return fail(kField, system_error());
  const std::string_view bytes(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  if (!write_all(file_.get(), bytes)) return fail(kField, "cannot hold " + name + ": " + system_error());
  QCONFORM_TRY(enter(name, tensor.type, tensor.shape));
  return {};
}

Result<Tensor> TensorFile::read(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return fail(kField, "has no " + name);
  const auto& [type, shape, offset] = found->second;
  Tensor tensor{type, shape, {}};
  tensor.bytes.resize(static_cast<std::size_t>(bytes_for(type, elements_of(shape))));
  if (::lseek(file_.get(), offset, SEEK_SET) != offset ||
      !read_all_of(file_.get(), tensor.bytes.data(), tensor.bytes.size())) {
    return fail(kField, "ends before " + name);
  }
  return tensor;
}

void TensorFile::write_index(onnx::GraphProto& graph) const {
  for (const std::string& name : names_) {
    const Entry& entry = entries_.at(name);
    write_value_info(name, entry.type, entry.shape, *graph.add_value_info());
  }
}

Result<void> TensorFile::take_index(const onnx::GraphProto& graph) {
  entries_.clear();
  names_.clear();
  end_ = 0;
  for (const onnx::ValueInfoProto& info : graph.value_info()) {
    const ValueFacts facts = facts_of(info);
    auto shape = full_shape(facts.shape);
    if (!shape || !is_known(facts.type)) return fail(kField, "has a damaged index");
    QCONFORM_TRY(enter(info.name(), facts.type, std::move(*shape)));
  }
  return {};
}

}  // namespace qconform
