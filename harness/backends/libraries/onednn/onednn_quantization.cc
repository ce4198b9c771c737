#include "harness/backends/libraries/onednn/onednn_quantization.h"

#include <algorithm>
#include <cstring>

namespace qconform::libraries::dnn {

dnnl::memory::data_type type_of(ElementType type) {
  using Type = dnnl::memory::data_type;
  switch (type) {
    case ElementType::float32: return Type::f32;
    case ElementType::float16: return Type::f16;
    case ElementType::bfloat16: return Type::bf16;
    case ElementType::uint8: return Type::u8;
    case ElementType::int8: return Type::s8;
    case ElementType::int32: return Type::s32;
    default: throw dnnl::error(dnnl_unimplemented, "no form for some element type");
  }
}

dnnl::memory copy_of(std::span<const std::int32_t> values, const dnnl::engine& engine) {
  using Memory = dnnl::memory;
  Memory memory({{static_cast<Memory::dim>(values.size())}, Memory::data_type::s32, Memory::format_tag::a}, engine);
  std::memcpy(memory.get_data_handle(), values.data(), values.size_bytes());
  return memory;
}

ZeroPoints zero_points_of(std::span<const std::int32_t> values, int channels_mask) {
  if (std::all_of(values.begin(), values.end(), [](std::int32_t z) { return z == 0; })) return {};
  const bool is_one = std::all_of(values.begin(), values.end(), [&](std::int32_t z) { return z == values.front(); });
  if (is_one) return {{values.front()}, 0};
  return {{values.begin(), values.end()}, channels_mask};
}

int mask_of(const reference::QuantizationLayout& layout) {
  constexpr int kOuter = 1 << 0;
  constexpr int kChannels = 1 << 1;
  constexpr int kInner = 1 << 2;
  if (layout.is_blocked()) return kOuter | kChannels | kInner;
  return layout.channels == 1 ? 0 : kChannels;
}

}  // namespace qconform::libraries::dnn
