/* Was built with a header whose qc2_backend has more members. */
#define OWN_ENTRY
#include "row_2.h"

const struct qc2_backend* qconform_backend_2(void) {
  static struct {
    struct qc2_backend known;
    void* later[4];
  } backend = {.known = ROW_BACKEND};
  backend.known.size = sizeof backend;
  return &backend.known;
}
