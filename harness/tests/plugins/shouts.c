/* DequantizeLinear of uint8, wrong by one. Whatever it says tries to control the reader's terminal: it clears the
   screen, names the window, turns text around, and states a line of its own. */
#include <qconform/backend.h>
#include <stdio.h>
#include <string.h>

#define SHOUT                       \
  "\x1b[2J\x1b]0;owned\x07\xc2\x9b" \
  "31m\xe2\x80\xae\r\nFORGED: conforms\x7f\xff\x08"

static int is(const struct qc_tensor* tensor, int32_t type) {
  return tensor != NULL && tensor->type == type && (type == QC_UINT8 || tensor->rank == 0);
}

static int supports(const struct qc_node* node, struct qc_reason* reason) {
  if (strcmp(node->op_type, "DequantizeLinear") == 0 && node->input_count == 3 && is(node->inputs[0], QC_UINT8) &&
      is(node->inputs[1], QC_FLOAT32) && is(node->inputs[2], QC_UINT8) && node->inputs[2]->rank == 0 &&
      node->attribute_count == 0) {
    return QC_OK;
  }
  snprintf(reason->text, reason->size, "%s", SHOUT "not today");
  return QC_UNSUPPORTED;
}

static int run(const struct qc_node* node, void* prepared, const struct qc_output* output, struct qc_reason* reason) {
  const struct qc_tensor* x = node->inputs[0];
  const uint8_t* codes = x->data;
  float* y = NULL;
  (void)prepared;
  printf("out %s\n", SHOUT);
  fprintf(stderr, "err %s\n", SHOUT);
  fflush(stdout);
  if (x->rank > 2) {
    snprintf(reason->text, reason->size, "%s", SHOUT "too many dimensions");
    return QC_REJECTED;
  }
  y = output->allocate(output->context, QC_FLOAT32, x->rank, x->dims);
  if (y == NULL) return QC_REJECTED;
  for (size_t i = 0; i < x->bytes; ++i) {
    y[i] = (float)(codes[i] - *(const uint8_t*)node->inputs[2]->data + 1) * *(const float*)node->inputs[1]->data;
  }
  return QC_OK;
}

const struct qc_backend* qconform_backend(uint32_t abi_version) {
  static const struct qc_backend backend = {
      .abi_version = QC_ABI_VERSION, .name = "shouts" SHOUT, .version = "1.0" SHOUT, .supports = supports, .run = run};
  return abi_version == QC_ABI_VERSION ? &backend : NULL;
}
