// How the floating-point unit rounds and flushes.
#pragma once

#include <cstdint>
#include <string>

namespace qconform {

/// The control bits of MXCSR, with the control word of x87 above them, or of FPCR, of this thread, without the flags
/// that calculations raise; 0 on
/// other processors.
[[nodiscard]] std::uint64_t float_mode();
void set_float_mode(std::uint64_t mode);

/// "left flush-to-zero on, rounding changed"
[[nodiscard]] std::string float_mode_change(std::uint64_t before, std::uint64_t after);

}  // namespace qconform
