// Asks the processor at hand, at run time, which instructions it can run: the build says nothing about the machine. A
// feature of another architecture is never available.
#pragma once

namespace qconform::reference::cpu {

/// AVX2, and an operating system that saves the 256-bit registers.
[[nodiscard]] bool has_avx2();

/// AVX2 and AVX-VNNI, the VEX encoding of VPDPBUSD.
[[nodiscard]] bool has_avxvnni();

/// AVX-512 F, BW, DQ, VL and VNNI, and an operating system that saves the 512-bit registers.
[[nodiscard]] bool has_avx512vnni();

/// AMX tiles with 8-bit products beside AVX-512 VNNI, and a kernel that grants this process the use of the
/// tiles. The first call asks it for that.
[[nodiscard]] bool has_amx();

/// Advanced SIMD (NEON) as every ARMv8-A processor of an application profile has it.
[[nodiscard]] bool has_neon();

/// The instructions of FEAT_DotProd: SDOT and UDOT.
[[nodiscard]] bool has_dotprod();

/// The instructions of FEAT_I8MM: SMMLA, UMMLA and USMMLA, and USDOT.
[[nodiscard]] bool has_i8mm();

}  // namespace qconform::reference::cpu
