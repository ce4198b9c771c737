/* DequantizeLinear of int8 or uint8 by one scale, whose first element is wrong. With FICKLE=crash in its environment it
 * crashes on every case, with FICKLE=hang it never returns: what it answered a moment ago is no guide. */
#include "linear.h"

#include <signal.h>

static int64_t elements_of(const struct qc_value* value) {
  int64_t count = 1;
  for (int32_t i = 0; i < value->rank; ++i) count *= value->dims[i];
  return count;
}

static int supports(void* state, const struct qc_graph* graph, struct qc_reason* reason) {
  const struct qc_value* x = input(graph, 0);
  const struct qc_value* scale = input(graph, 1);
  (void)state;
  if (strcmp(graph->nodes[0]->op_type, "DequantizeLinear") == 0 && graph->nodes[0]->input_count == 2 &&
      graph->nodes[0]->attribute_count == 0 && x != NULL && (x->type == QC_UINT8 || x->type == QC_INT8) &&
      scale != NULL && scale->type == QC_FLOAT32 && elements_of(scale) == 1 && elements_of(x) > 0) {
    return QC_OK;
  }
  snprintf(reason->text, reason->text_size, "only DequantizeLinear of 8 bits by one scale");
  return QC_UNSUPPORTED;
}

static int run(void* state, void* node, const struct qc_run* run, struct qc_reason* reason) {
  const struct qc_value* x = run->inputs[0];
  const char* mood = getenv("FICKLE");
  float scale;
  (void)state, (void)node, (void)reason;
  if (mood != NULL && strcmp(mood, "crash") == 0) (void)raise(SIGSEGV);
  while (mood != NULL && strcmp(mood, "hang") == 0) continue;
  float* y = run->allocate(run->context, 0, QC_FLOAT32, x->rank, x->dims);
  if (y == NULL) return QC_REJECTED;
  memcpy(&scale, input(run->graph, 1)->data, sizeof scale);
  for (int64_t i = 0; i < elements_of(x); ++i) {
    const int value = x->type == QC_INT8 ? ((const int8_t*)x->data)[i] : ((const uint8_t*)x->data)[i];
    y[i] = (float)(value + (i == 0 ? 1 : 0)) * scale;
  }
  return QC_OK;
}

const struct qc_backend* qconform_backend(void) {
  static const struct qc_backend backend = {
      .size = sizeof backend, .name = "fickle", .version = "1", .supports = supports, .run = run};
  return &backend;
}
