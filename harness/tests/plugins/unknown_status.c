/* Answers with a status that the interface does not define. */
#define OWN_ENTRY
#include "row.h"

static int run_oddly(void* state, void* node, const struct qc_run* run, struct qc_reason* reason) {
  const int status = row_run(state, node, run, reason);
  return input(run->graph, 0)->dims[2] == 13 ? -1000000 : status;
}

const struct qc_backend* qconform_backend(void) {
  static struct qc_backend backend = ROW_BACKEND;
  backend.run = run_oddly;
  return &backend;
}
