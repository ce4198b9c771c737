// The exhaustive check of DequantizeLinear, at two lengths.
#pragma once

namespace qconform::reference::oracle {

/// Every x and every zero point of int8 and uint8, under `scales` scales: borders, subnormals, powers
/// of two, any bit pattern, ordinary. Bit for bit against GMP rationals. Fails the current test.
void expect_every_8_bit_value_dequantized(int scales);

}  // namespace qconform::reference::oracle
