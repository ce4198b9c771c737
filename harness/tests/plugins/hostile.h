/* A right ConvInteger of one row of uint8 by a row of int8 without attributes, with one way of going wrong:
 * what a library defines as misbehave() is done on rows of exactly 13 elements, and on no others. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <qconform/backend.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
  const uint8_t* x;
  int64_t columns;
  const int8_t* w;
  int64_t taps;
  int32_t* y;   /* columns - taps + 1 */
  int8_t* kept; /* with KEEPS_WEIGHTS the copy of w that the node was prepared with, and w is the same memory */
};

/* Called when `y` has been computed. */
static void misbehave(struct row* row);

static int is_row(const struct qc_tensor* tensor, int32_t type) {
  return tensor != NULL && tensor->type == type && tensor->rank == 3 && tensor->dims[0] == 1 && tensor->dims[1] == 1;
}

static int supports(const struct qc_node* node, struct qc_reason* reason) {
  if (strcmp(node->op_type, "ConvInteger") == 0 && node->input_count == 2 && node->attribute_count == 0 &&
      is_row(node->inputs[0], QC_UINT8) && is_row(node->inputs[1], QC_INT8) && node->inputs[1]->dims[2] > 0 &&
      node->inputs[0]->dims[2] >= node->inputs[1]->dims[2]) {
    return QC_OK;
  }
  snprintf(reason->text, reason->size, "only ConvInteger of a row");
  return QC_UNSUPPORTED;
}

#ifdef KEEPS_WEIGHTS
static int keep_weights(const struct qc_node* node, void** prepared, struct qc_reason* reason) {
  (void)reason;
  *prepared = malloc(node->inputs[1]->bytes);
  memcpy(*prepared, node->inputs[1]->data, node->inputs[1]->bytes);
  return QC_OK;
}
#else
#define keep_weights NULL
#endif

static int run(const struct qc_node* node, void* prepared, const struct qc_output* output, struct qc_reason* reason) {
  struct row row = {
      node->inputs[0]->data, node->inputs[0]->dims[2], node->inputs[1]->data, node->inputs[1]->dims[2], NULL, prepared};
  const int64_t dims[3] = {1, 1, row.columns - row.taps + 1};
  (void)reason;
  if (prepared != NULL) row.w = prepared;
  row.y = output->allocate(output->context, QC_INT32, 3, dims);
  if (row.y == NULL) return QC_REJECTED;
  for (int64_t i = 0; i < dims[2]; ++i) {
    int32_t sum = 0;
    for (int64_t k = 0; k < row.taps; ++k) sum += row.x[i + k] * row.w[k];
    row.y[i] = sum;
#ifdef LEAVES_LAST_UNWRITTEN
    if (row.columns == 13 && i == dims[2] - 2) break;
#endif
  }
  if (row.columns == 13) misbehave(&row);
  return QC_OK;
}

const struct qc_backend* qconform_backend(uint32_t abi_version) {
  static const struct qc_backend backend = {.abi_version = QC_ABI_VERSION,
                                            .name = "hostile",
                                            .version = "1",
                                            .supports = supports,
                                            .prepare = keep_weights,
                                            .release = free,
                                            .run = run};
  return abi_version == QC_ABI_VERSION ? &backend : NULL;
}

#endif
