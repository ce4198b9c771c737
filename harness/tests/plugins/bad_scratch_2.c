/* States an alignment of scratch memory that is none. */
#define OWN_ENTRY
#include "row_2.h"

static int prepare_badly(void* state, const struct qc2_graph* graph, struct qc2_prepared* prepared,
                         struct qc2_reason* reason) {
  const int status = row_prepare(state, graph, prepared, reason);
  if (input(graph, 0)->dims[2] == 13) prepared->scratch_alignment = 3;
  return status;
}

const struct qc2_backend* qconform_backend_2(void) {
  static struct qc2_backend backend = ROW_BACKEND;
  backend.prepare = prepare_badly;
  return &backend;
}
