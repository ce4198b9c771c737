/* A complete backend: DequantizeLinear of uint8 tensors with one scale. */
#include <qconform/backend.h>
#include <stdio.h>
#include <string.h>

static const struct qc_value* input(const struct qc_graph* graph, size_t position) {
  const int32_t value = graph->nodes[0]->inputs[position];
  return value < 0 ? NULL : graph->values[value];
}

static int is(const struct qc_value* value, int32_t type) {
  return value != NULL && value->type == type;
}

/* There are no data of x here: the same program can plan a network before it has run. */
static int supports(void* state, const struct qc_graph* graph, struct qc_reason* reason) {
  const struct qc_node* node = graph->nodes[0];
  (void)state;
  /* axis, block_size, ...: whatever could change the meaning is somebody else's. */
  if (strcmp(node->op_type, "DequantizeLinear") == 0 && node->input_count == 3 && node->attribute_count == 0 &&
      is(input(graph, 0), QC_UINT8) && is(input(graph, 1), QC_FLOAT32) && is(input(graph, 2), QC_UINT8) &&
      input(graph, 1)->rank == 0 && input(graph, 2)->rank == 0) {
    return QC_OK;
  }
  snprintf(reason->text, reason->text_size, "only DequantizeLinear of uint8, one scale, one zero point");
  return QC_UNSUPPORTED;
}

static int run(void* state, void* node, const struct qc_run* run, struct qc_reason* reason) {
  const struct qc_value* x = run->inputs[0];
  const uint8_t* codes = x->data;
  const float scale = *(const float*)input(run->graph, 1)->data;
  const int zero_point = *(const uint8_t*)input(run->graph, 2)->data;
  float* y = run->allocate(run->context, 0, QC_FLOAT32, x->rank, x->dims);
  (void)state, (void)node, (void)reason;
  if (y == NULL) return QC_REJECTED;
  for (size_t i = 0; i < x->bytes; ++i) y[i] = (float)(codes[i] - zero_point) * scale;
  return QC_OK;
}

const struct qc_backend* qconform_backend(void) {
  static const struct qc_backend backend = {
      .size = sizeof backend, .name = "dequantize", .version = "1.0", .supports = supports, .run = run};
  return &backend;
}
