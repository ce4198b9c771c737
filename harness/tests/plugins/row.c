/* Right, and states a capability that no qconform knows. */
#define CAPABILITIES (QC_CHANNELS_LAST | QC_UNITS | UINT64_C(1) << 63)
#include "row.h"
