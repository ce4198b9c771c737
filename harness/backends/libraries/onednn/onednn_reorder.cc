#include "harness/backends/libraries/onednn/onednn_reorder.h"

#include <utility>

namespace qconform::libraries::dnn {
namespace {

dnnl::memory::desc description(const reference::QuantizationLayout& layout, ElementType type) {
  return {{layout.outer, layout.channels, layout.inner}, type_of(type), dnnl::memory::format_tag::abc};
}

}  // namespace

PackedReorder::PackedReorder(const dnnl::engine& engine, dnnl::stream& stream, const Linear& node,
                             Quantization quantization, std::span<std::byte> x, std::vector<std::int64_t> shape)
    : stream_(stream),
      quantization_(std::move(quantization)),
      y_type_(node.y_type),
      shape_(std::move(shape)),
      x_(description(node.layout, node.x_type), engine, x.data()),
      y_(description(node.layout, node.y_type), engine, nullptr),
      reorder_(dnnl::reorder::primitive_desc(engine, x_.get_desc(), engine, y_.get_desc(), quantization_.attributes)) {
  quantization_.arguments.insert({{DNNL_ARG_FROM, x_}, {DNNL_ARG_TO, y_}});
}

void PackedReorder::write_to(std::span<std::byte> y) {
  y_.set_data_handle(y.data());
}

void PackedReorder::run() {
  reorder_.execute(stream_, quantization_.arguments);
  stream_.wait();
}

}  // namespace qconform::libraries::dnn
