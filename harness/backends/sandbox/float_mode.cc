#include "harness/backends/sandbox/float_mode.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <string_view>

namespace qconform {
namespace {

struct Field {
  std::uint64_t bits;
  std::string_view name;
};

#if defined(__x86_64__)
constexpr std::uint64_t kRaisedFlags = 0x3F;
constexpr int kX87Shift = 32;  // its control word stands above MXCSR
constexpr Field kFields[] = {{std::uint64_t{0x0300} << kX87Shift, "the precision of the x87 unit"},
                             {std::uint64_t{0x0C00} << kX87Shift, "the rounding of the x87 unit"},
                             {std::uint64_t{0x003F} << kX87Shift, "the exception masks of the x87 unit"},
                             {0x8000, "flush-to-zero (MXCSR.FTZ)"},
                             {0x0040, "denormals-are-zero (MXCSR.DAZ)"},
                             {0x6000, "rounding (MXCSR.RC)"},
                             {0x1F80, "exception masks (MXCSR)"}};
#elif defined(__aarch64__)
constexpr Field kFields[] = {{std::uint64_t{1} << 24, "flush-to-zero (FPCR.FZ)"},
                             {std::uint64_t{1} << 19, "flush-to-zero of float16 (FPCR.FZ16)"},
                             {std::uint64_t{3} << 22, "rounding (FPCR.RMode)"},
                             {std::uint64_t{1} << 25, "default NaN (FPCR.DN)"},
                             {0x9F00, "exception traps (FPCR)"}};
#else
constexpr Field kFields[] = {{~std::uint64_t{0}, "mode"}};
#endif

}  // namespace

std::uint64_t float_mode() {
#if defined(__x86_64__)
  std::uint16_t x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (_mm_getcsr() & ~kRaisedFlags) | std::uint64_t{x87} << kX87Shift;
#elif defined(__aarch64__)
  std::uint64_t mode = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
#else
  return 0;
#endif
}

void set_float_mode(std::uint64_t mode) {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(mode));
  const auto x87 = static_cast<std::uint16_t>(mode >> kX87Shift);
  __asm__ volatile("fldcw %0" : : "m"(x87));
#elif defined(__aarch64__)
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
  static_cast<void>(mode);
#endif
}

std::string float_mode_change(std::uint64_t before, std::uint64_t after) {
  std::string text;
  for (const Field& field : kFields) {
    if ((before & field.bits) == (after & field.bits)) continue;
    text += (text.empty() ? "changed " : ", ") + std::string(field.name);
  }
  return text.empty() ? "changed a mode of the floating-point unit" : text + " and left it so";
}

}  // namespace qconform
