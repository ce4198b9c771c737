/* A right ConvInteger of one row of uint8 by a row of int8 without attributes and w_zero_point, with scratch memory in
 * which it sums up.
 * Each macro below, where a library defines it, makes it do this on rows of exactly 13 elements, and on no others:
 *
 *     MISBEHAVES              calls the library's misbehave() once y is computed
 *     KEEPS_WEIGHTS           computes with the copy of w that the node was prepared with
 *     SHARED_WEIGHTS          computes with what SHARED_WEIGHTS(w, taps) returns in place of w
 *     KEEPS_X                 computes with what KEEPS_X(row, x) returns in place of x
 *     LEAVES_LAST_UNWRITTEN   does not write the last element of y
 *     SCRATCH_BEYOND          writes to that byte of its scratch memory
 *
 * RUNS(row) is a statement at the beginning of each run.
 * LOSES_BYTES, on rows of any length: so many bytes are allocated with each node and never given back. */
#ifndef ROW_H
#define ROW_H

#include <qconform/backend.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
  int64_t columns;
  int64_t taps;
  int32_t x_zero_point;
  const int8_t* w;
  int8_t* kept_w;  /* with KEEPS_WEIGHTS a copy of w, and w is that memory */
  uint8_t* kept_x; /* room for a copy, for libraries that keep one */
  int has_x;
};

#ifdef MISBEHAVES
/* `y` has columns - taps + 1 elements. */
static void misbehave(const struct row* row, const uint8_t* x, int32_t* y);
#endif

static int refuse(struct qc_reason* reason, const char* why) {
  snprintf(reason->text, reason->text_size, "%s", why);
  return QC_UNSUPPORTED;
}

static const struct qc_value* input(const struct qc_graph* graph, size_t position) {
  const struct qc_node* node = graph->nodes[0];
  if (position >= node->input_count || node->inputs[position] < 0) return NULL;
  return graph->values[node->inputs[position]];
}

static int is_row(const struct qc_value* value, int32_t type) {
  return value != NULL && value->type == type && value->rank == 3 && value->dims[0] == 1 && value->dims[1] == 1;
}

static int row_supports(void* state, const struct qc_graph* graph, struct qc_reason* reason) {
  const struct qc_value* x = input(graph, 0);
  const struct qc_value* w = input(graph, 1);
  (void)state;
  if (strcmp(graph->nodes[0]->op_type, "ConvInteger") != 0 || graph->nodes[0]->input_count > 3 ||
      graph->nodes[0]->attribute_count != 0 || !is_row(x, QC_UINT8) || !is_row(w, QC_INT8) || w->dims[2] == 0 ||
      x->dims[2] < w->dims[2]) {
    return refuse(reason, "only ConvInteger of a row");
  }
  /* There are no data to decide by. */
  if (x->data != NULL || w->data != NULL || x->kind != QC_INPUT || w->kind != QC_CONSTANT) abort();
  return QC_OK;
}

static int row_prepare(void* state, const struct qc_graph* graph, struct qc_prepared* prepared,
                       struct qc_reason* reason) {
  struct row* row = calloc(1, sizeof *row);
  (void)state, (void)reason;
  if (row == NULL) abort();
  row->columns = input(graph, 0)->dims[2];
  row->taps = input(graph, 1)->dims[2];
  if (input(graph, 2) != NULL) row->x_zero_point = *(const uint8_t*)input(graph, 2)->data;
  row->w = input(graph, 1)->data;
  row->kept_x = malloc((size_t)row->columns);
#ifdef SHARED_WEIGHTS
  if (row->columns == 13) row->w = SHARED_WEIGHTS(row->w, row->taps);
#endif
#ifdef LOSES_BYTES
  static void* volatile lost;
  lost = malloc(LOSES_BYTES);
  if (lost == NULL) abort();
  memset(lost, 1, LOSES_BYTES);
#endif
#ifdef KEEPS_WEIGHTS
  row->kept_w = malloc((size_t)row->taps);
  if (row->kept_w == NULL) abort();
  row->w = memcpy(row->kept_w, row->w, (size_t)row->taps);
#endif
  if (input(graph, 0)->data != NULL) abort();
  prepared->node = row;
  prepared->scratch_bytes = (size_t)(row->columns - row->taps + 1) * sizeof(int32_t);
  prepared->scratch_alignment = 64;
  return QC_OK;
}

static void row_release(void* state, void* node) {
  (void)state;
  free(((struct row*)node)->kept_x);
  free(((struct row*)node)->kept_w);
  free(node);
}

static int row_run(void* state, void* node, const struct qc_run* run, struct qc_reason* reason) {
  struct row* row = node;
  const uint8_t* x = run->inputs[0]->data;
  int32_t* sums = run->scratch;
  const int64_t dims[3] = {1, 1, row->columns - row->taps + 1};
  int32_t* y = run->allocate(run->context, 0, QC_INT32, 3, dims);
  (void)state, (void)reason;
  if (y == NULL) return QC_REJECTED;
  if ((uintptr_t)sums % 64 != 0) abort();
#ifdef RUNS
  RUNS(row);
#endif
#ifdef KEEPS_X
  if (row->columns == 13) x = KEEPS_X(row, x);
#endif
  for (int64_t i = 0; i < dims[2]; ++i) {
    sums[i] = 0;
    for (int64_t k = 0; k < row->taps; ++k) sums[i] += (x[i + k] - row->x_zero_point) * row->w[k];
  }
#ifdef SCRATCH_BEYOND
  if (row->columns == 13) ((unsigned char*)sums)[SCRATCH_BEYOND] = 1;
#endif
#ifdef LEAVES_LAST_UNWRITTEN
  memcpy(y, sums, (size_t)(row->columns == 13 ? dims[2] - 1 : dims[2]) * sizeof *y);
#else
  memcpy(y, sums, (size_t)dims[2] * sizeof *y);
#endif
#ifdef MISBEHAVES
  if (row->columns == 13) misbehave(row, x, y);
#endif
  return QC_OK;
}

#ifndef CAPABILITIES
#define CAPABILITIES 0
#endif

#define ROW_BACKEND                                                                                 \
  {                                                                                                 \
    .size = sizeof(struct qc_backend), .name = "row", .version = "1", .capabilities = CAPABILITIES, \
    .supports = row_supports, .prepare = row_prepare, .release = row_release, .run = row_run        \
  }

#ifndef OWN_ENTRY
const struct qc_backend* qconform_backend(void) {
  static const struct qc_backend backend = ROW_BACKEND;
  return &backend;
}
#endif

#endif
