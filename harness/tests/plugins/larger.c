/* Was built with a header whose qc_backend has more members. */
#define OWN_ENTRY
#include "row.h"

const struct qc_backend* qconform_backend(void) {
  static struct {
    struct qc_backend known;
    void* later[4];
  } backend = {.known = ROW_BACKEND};
  backend.known.size = sizeof backend;
  return &backend.known;
}
