/* A complete backend: DequantizeLinear of uint8 tensors with one scale. */
#include <qconform/backend.h>
#include <stdio.h>
#include <string.h>

static int is(const struct qc_tensor* tensor, int32_t type) {
  return tensor != NULL && tensor->type == type;
}

static int supports(const struct qc_node* node, struct qc_reason* reason) {
  const int is_mine = strcmp(node->op_type, "DequantizeLinear") == 0 && node->input_count == 3 &&
                      is(node->inputs[0], QC_UINT8) && is(node->inputs[1], QC_FLOAT32) &&
                      is(node->inputs[2], QC_UINT8) && node->inputs[1]->rank == 0 && node->inputs[2]->rank == 0;
  /* axis, block_size, ...: whatever could change the meaning is somebody else's. */
  if (is_mine && node->attribute_count == 0) return QC_OK;
  snprintf(reason->text, reason->size, "only DequantizeLinear of uint8, one scale, one zero point");
  return QC_UNSUPPORTED;
}

static int run(const struct qc_node* node, void* prepared, const struct qc_output* output, struct qc_reason* reason) {
  const struct qc_tensor* x = node->inputs[0];
  const uint8_t* codes = x->data;
  const float scale = *(const float*)node->inputs[1]->data;
  const int zero_point = *(const uint8_t*)node->inputs[2]->data;
  float* y = output->allocate(output->context, QC_FLOAT32, x->rank, x->dims);
  (void)prepared, (void)reason;
  if (y == NULL) return QC_REJECTED;
  for (size_t i = 0; i < x->bytes; ++i) y[i] = (float)(codes[i] - zero_point) * scale;
  return QC_OK;
}

const struct qc_backend* qconform_backend(uint32_t abi_version) {
  static const struct qc_backend backend = {
      .abi_version = QC_ABI_VERSION, .name = "dequantize", .version = "1.0", .supports = supports, .run = run};
  return abi_version == QC_ABI_VERSION ? &backend : NULL;
}
