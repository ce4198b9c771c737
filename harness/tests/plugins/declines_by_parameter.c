/* Declines by parameters and constants: DequantizeLinear without a zero point of 3, which it sees before it has data.
 */
#define OWN_ENTRY
#include "row.h"

static int supports_3(void* state, const struct qc_graph* graph, struct qc_reason* reason) {
  const struct qc_value* zero_point = input(graph, 2);
  (void)state;
  if (strcmp(graph->nodes[0]->op_type, "DequantizeLinear") != 0) return refuse(reason, "only DequantizeLinear");
  if (zero_point == NULL) return refuse(reason, "no zero point");
  if (zero_point->kind != QC_PARAMETER || (zero_point->data == NULL && zero_point->bytes > 0)) abort();
  if (zero_point->bytes != 1 || *(const uint8_t*)zero_point->data != 3) return refuse(reason, "zero point is not 3");
  return refuse(reason, "zero point is 3");
}

const struct qc_backend* qconform_backend(void) {
  static struct qc_backend backend = ROW_BACKEND;
  backend.supports = supports_3;
  return &backend;
}
