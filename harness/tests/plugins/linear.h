/* DequantizeLinear for libraries that go wrong with it. */
#ifndef LINEAR_H
#define LINEAR_H

#include <qconform/backend.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const struct qc_value* input(const struct qc_graph* graph, size_t position) {
  const struct qc_node* node = graph->nodes[0];
  if (position >= node->input_count || node->inputs[position] < 0) return NULL;
  return graph->values[node->inputs[position]];
}

static inline int is_scalar(const struct qc_value* value, int32_t type) {
  return value != NULL && value->type == type && value->rank == 0;
}

/* Whether a graph is DequantizeLinear of uint8 with one scale, one zero point and no attribute. */
static inline int is_uint8(const struct qc_graph* graph) {
  const struct qc_value* x = input(graph, 0);
  return strcmp(graph->nodes[0]->op_type, "DequantizeLinear") == 0 && graph->nodes[0]->attribute_count == 0 &&
         graph->nodes[0]->input_count == 3 && x != NULL && x->type == QC_UINT8 &&
         is_scalar(input(graph, 1), QC_FLOAT32) && is_scalar(input(graph, 2), QC_UINT8);
}

/* Computes a graph that is_uint8(), wrong by `error` scales. */
static inline int dequantize(const struct qc_run* run, int error) {
  const struct qc_value* x = run->inputs[0];
  const uint8_t* codes = x->data;
  const float scale = *(const float*)input(run->graph, 1)->data;
  const int zero_point = *(const uint8_t*)input(run->graph, 2)->data;
  float* y = run->allocate(run->context, 0, QC_FLOAT32, x->rank, x->dims);
  if (y == NULL) return QC_REJECTED;
  for (size_t i = 0; i < x->bytes; ++i) y[i] = (float)(codes[i] - zero_point + error) * scale;
  return QC_OK;
}

#endif
