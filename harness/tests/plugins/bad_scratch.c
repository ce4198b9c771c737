/* States an alignment of scratch memory that is none. */
#define OWN_ENTRY
#include "row.h"

static int prepare_badly(void* state, const struct qc_graph* graph, struct qc_prepared* prepared,
                         struct qc_reason* reason) {
  const int status = row_prepare(state, graph, prepared, reason);
  if (input(graph, 0)->dims[2] == 13) prepared->scratch_alignment = 3;
  return status;
}

const struct qc_backend* qconform_backend(void) {
  static struct qc_backend backend = ROW_BACKEND;
  backend.prepare = prepare_badly;
  return &backend;
}
