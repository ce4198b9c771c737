/* A right library of version 2, and a wrong function of version 1, which nobody is to call. */
#define CAPABILITIES (QC2_CHANNELS_LAST | QC2_UNITS | UINT64_C(1) << 63)
#include "row_2.h"

const struct qc_backend* qconform_backend(uint32_t abi_version) {
  (void)abi_version;
  abort();
}
