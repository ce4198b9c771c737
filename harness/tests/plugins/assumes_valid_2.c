/* Ends its process at a case that is out of contract. */
#define CAPABILITIES QC2_ASSUMES_VALID
#define OWN_ENTRY
#include "row_2.h"

static int supports_valid(void* state, const struct qc2_graph* graph, struct qc2_reason* reason) {
  const struct qc2_value* x = input(graph, 0);
  /* Any convolution has more than a batch and channels. */
  if (strcmp(graph->nodes[0]->op_type, "ConvInteger") == 0 && (x == NULL || x->rank < 3)) exit(3);
  return row_supports(state, graph, reason);
}

const struct qc2_backend* qconform_backend_2(void) {
  static struct qc2_backend backend = ROW_BACKEND;
  backend.supports = supports_valid;
  return &backend;
}
