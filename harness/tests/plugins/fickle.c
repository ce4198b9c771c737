/* DequantizeLinear of int8 or uint8 by one scale, whose first element is wrong. With FICKLE=crash in its environment it
 * crashes on every case, with FICKLE=hang it never returns: what it answered a moment ago is no guide. */
#include <qconform/backend.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t elements_of(const struct qc_tensor* tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor->rank; ++i) count *= tensor->dims[i];
  return count;
}

static int supports(const struct qc_node* node, struct qc_reason* reason) {
  if (strcmp(node->op_type, "DequantizeLinear") == 0 && node->input_count == 2 && node->attribute_count == 0 &&
      (node->inputs[0]->type == QC_UINT8 || node->inputs[0]->type == QC_INT8) && node->inputs[1]->type == QC_FLOAT32 &&
      elements_of(node->inputs[1]) == 1 && elements_of(node->inputs[0]) > 0) {
    return QC_OK;
  }
  snprintf(reason->text, reason->size, "only DequantizeLinear of 8 bits by one scale");
  return QC_UNSUPPORTED;
}

static int run(const struct qc_node* node, void* prepared, const struct qc_output* output, struct qc_reason* reason) {
  const struct qc_tensor* x = node->inputs[0];
  const char* mood = getenv("FICKLE");
  float scale;
  (void)prepared, (void)reason;
  if (mood != NULL && strcmp(mood, "crash") == 0) (void)raise(SIGSEGV);
  while (mood != NULL && strcmp(mood, "hang") == 0) continue;
  float* y = output->allocate(output->context, QC_FLOAT32, x->rank, x->dims);
  if (y == NULL) return QC_REJECTED;
  memcpy(&scale, node->inputs[1]->data, sizeof scale);
  for (int64_t i = 0; i < elements_of(x); ++i) {
    const int value = x->type == QC_INT8 ? ((const int8_t*)x->data)[i] : ((const uint8_t*)x->data)[i];
    y[i] = (float)(value + (i == 0 ? 1 : 0)) * scale;
  }
  return QC_OK;
}

const struct qc_backend* qconform_backend(uint32_t abi_version) {
  static const struct qc_backend backend = {
      .abi_version = QC_ABI_VERSION, .name = "fickle", .version = "1", .supports = supports, .run = run};
  return abi_version == QC_ABI_VERSION ? &backend : NULL;
}
