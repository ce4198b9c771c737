// What the processor at hand can run, asked of it at run time: the build says nothing about the
// machine. A feature of another architecture is never available.
#pragma once

namespace qconform::reference::cpu {

/// AVX2, and an operating system that saves the 256-bit registers.
[[nodiscard]] bool has_avx2();

/// AVX-512 F, BW, DQ, VL and VNNI, and an operating system that saves the 512-bit registers.
[[nodiscard]] bool has_avx512vnni();

/// Advanced SIMD (NEON) as every ARMv8-A processor of an application profile has it.
[[nodiscard]] bool has_neon();

}  // namespace qconform::reference::cpu
