/* DequantizeLinear of uint8 as in dequantize.c, of some cases alone: DECLINES says of which it wants nothing, "all",
   "all-but-one" or "half". Its words try to clear the reader's screen. */
#include <qconform/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_asked_for(void) {
  static int cases = 0;
  const char* declined = getenv("DECLINES");
  ++cases;
  if (declined == NULL || strcmp(declined, "all") == 0) return 0;
  return strcmp(declined, "half") == 0 ? cases % 2 : cases == 1;
}

static int is(const struct qc_tensor* tensor, int32_t type) {
  return tensor != NULL && tensor->type == type && (type == QC_UINT8 || tensor->rank == 0);
}

static int supports(const struct qc_node* node, struct qc_reason* reason) {
  if (strcmp(node->op_type, "DequantizeLinear") == 0 && node->input_count == 3 && is(node->inputs[0], QC_UINT8) &&
      is(node->inputs[1], QC_FLOAT32) && is(node->inputs[2], QC_UINT8) && node->inputs[2]->rank == 0 &&
      node->attribute_count == 0 && is_asked_for()) {
    return QC_OK;
  }
  snprintf(reason->text, reason->size, "\x1b[2Jnot today");
  return QC_UNSUPPORTED;
}

static int run(const struct qc_node* node, void* prepared, const struct qc_output* output, struct qc_reason* reason) {
  const struct qc_tensor* x = node->inputs[0];
  const uint8_t* codes = x->data;
  float* y = output->allocate(output->context, QC_FLOAT32, x->rank, x->dims);
  (void)prepared, (void)reason;
  if (y == NULL) return QC_REJECTED;
  for (size_t i = 0; i < x->bytes; ++i) {
    y[i] = (float)(codes[i] - *(const uint8_t*)node->inputs[2]->data) * *(const float*)node->inputs[1]->data;
  }
  return QC_OK;
}

const struct qc_backend* qconform_backend(uint32_t abi_version) {
  static const struct qc_backend backend = {
      .abi_version = QC_ABI_VERSION, .name = "declines", .version = "1.0\x1b[2J", .supports = supports, .run = run};
  return abi_version == QC_ABI_VERSION ? &backend : NULL;
}
