/* Ends its process at a case that is out of contract. */
#define CAPABILITIES QC_ASSUMES_VALID
#define OWN_ENTRY
#include "row.h"

static int supports_valid(void* state, const struct qc_graph* graph, struct qc_reason* reason) {
  const struct qc_value* x = input(graph, 0);
  /* Any convolution has more than a batch and channels. */
  if (strcmp(graph->nodes[0]->op_type, "ConvInteger") == 0 && (x == NULL || x->rank < 3)) exit(3);
  return row_supports(state, graph, reason);
}

const struct qc_backend* qconform_backend(void) {
  static struct qc_backend backend = ROW_BACKEND;
  backend.supports = supports_valid;
  return &backend;
}
