// Gives the qconform program that it is linked into the planted kernels in place of the real ones,
// so that exit codes and reports can be tested end to end.
#include "harness/tests/planted_kernels.h"

namespace qconform::reference {

std::span<const KernelSet> kernel_sets() {
  return testing::planted_kernel_sets();
}

}  // namespace qconform::reference
