// VPDPBUSD on 512 bits: four products of uint8 and int8, at most 4 * 255 * 128 in magnitude, added
// to a 32-bit lane modulo 2^32 (rule C17). The instruction's saturating form, VPDPBUSDS, is not used.
#include "reference/kernels/plane_product512.h"
#include "reference/kernels/vnni512.h"

namespace qconform::reference {
namespace {

void multiply(const PanelProduct* product) {
  multiply_panel<Vnni512, 4>(product);
}

constexpr LineLeaves kLines = line_leaves512<Vnni512>();

}  // namespace

extern const ConvolutionLeaves convolution_leaves_avx512vnni;
const ConvolutionLeaves convolution_leaves_avx512vnni = {
    .x_bytes = 1,
    .signed_x = false,
    .group = 4,
    .unit = 4,
    .lanes = 16,
    .max_vectors = 4,
    .multiply = multiply,
    .multiply_requantized = {multiply_requantized<Vnni512, Vnni512Half, CorrectlyRounded>,
                             multiply_requantized<Vnni512, Vnni512Half, OrtF32>, nullptr},
    .takes_places = true,
    .widen = nullptr,
    .subtract_products = subtract_products,
    .depthwise = {kDepthwise64, kDepthwise32},
    .to_channels_last = to_channels_last,
    .to_channels_first = to_channels_first,
    .lines = &kLines};

}  // namespace qconform::reference
