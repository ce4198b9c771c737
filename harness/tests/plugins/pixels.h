/* A right ConvInteger of uint8 by int8 in two dimensions without attributes, with the channels last. It sums up a
 * pixel's output channels in scratch memory. What a library defines as BEYOND, a statement of `run`, it does on images
 * of exactly 13 columns, and on no others. */
#ifndef PIXELS_H
#define PIXELS_H

#include <qconform/backend.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct qc_value* input(const struct qc_graph* graph, size_t position) {
  const struct qc_node* node = graph->nodes[0];
  if (position >= node->input_count || node->inputs[position] < 0) return NULL;
  return graph->values[node->inputs[position]];
}

static int is_image(const struct qc_value* value, int32_t type) {
  return value != NULL && value->type == type && value->rank == 4 && value->layout == QC_LAYOUT_CHANNELS_LAST;
}

static int pixels_supports(void* state, const struct qc_graph* graph, struct qc_reason* reason) {
  const struct qc_value* x = input(graph, 0);
  const struct qc_value* w = input(graph, 1);
  (void)state;
  if (strcmp(graph->nodes[0]->op_type, "ConvInteger") == 0 && graph->nodes[0]->input_count == 2 &&
      graph->nodes[0]->attribute_count == 0 && is_image(x, QC_UINT8) && is_image(w, QC_INT8) && x->dims[0] == 1 &&
      x->dims[3] == w->dims[3] && w->dims[1] > 0 && w->dims[2] > 0 && x->dims[1] >= w->dims[1] &&
      x->dims[2] >= w->dims[2] && graph->values[graph->outputs[0]]->layout == QC_LAYOUT_CHANNELS_LAST) {
    return QC_OK;
  }
  snprintf(reason->text, reason->text_size, "only ConvInteger of one image");
  return QC_UNSUPPORTED;
}

static int pixels_prepare(void* state, const struct qc_graph* graph, struct qc_prepared* prepared,
                          struct qc_reason* reason) {
  (void)state, (void)reason;
  prepared->scratch_bytes = (size_t)input(graph, 1)->dims[0] * sizeof(int32_t);
  prepared->scratch_alignment = 4;
  return QC_OK;
}

/* The sums of the output channels at one place; `x` is the window's first pixel. */
static void sum_up(const struct qc_value* w, const uint8_t* x, int64_t x_width, int32_t* sums) {
  const int8_t* weight = w->data;
  const int64_t row = w->dims[2] * w->dims[3];
  for (int64_t m = 0; m < w->dims[0]; ++m) {
    sums[m] = 0;
    for (int64_t i = 0; i < w->dims[1]; ++i, weight += row) {
      const uint8_t* pixels = x + i * x_width * w->dims[3];
      for (int64_t k = 0; k < row; ++k) sums[m] += pixels[k] * weight[k];
    }
  }
}

static int pixels_run(void* state, void* node, const struct qc_run* run, struct qc_reason* reason) {
  const struct qc_value* x = run->inputs[0];
  const struct qc_value* w = input(run->graph, 1);
  const uint8_t* pixels = x->data;
  int32_t* sums = run->scratch;
  const int64_t dims[4] = {1, x->dims[1] - w->dims[1] + 1, x->dims[2] - w->dims[2] + 1, w->dims[0]};
  int32_t* y = run->allocate(run->context, 0, QC_INT32, 4, dims);
  (void)state, (void)node, (void)reason;
  if (y == NULL) return QC_REJECTED;
  for (int64_t i = 0; i < dims[1]; ++i) {
    for (int64_t j = 0; j < dims[2]; ++j) {
      sum_up(w, pixels + (i * x->dims[2] + j) * x->dims[3], x->dims[2], sums);
      memcpy(y + (i * dims[2] + j) * dims[3], sums, (size_t)dims[3] * sizeof *y);
    }
  }
#ifdef BEYOND
  if (x->dims[2] == 13) BEYOND;
#endif
  return QC_OK;
}

const struct qc_backend* qconform_backend(void) {
  static const struct qc_backend backend = {.size = sizeof backend,
                                            .name = "pixels",
                                            .version = "1",
                                            .capabilities = QC_NEEDS_CHANNELS_LAST,
                                            .supports = pixels_supports,
                                            .prepare = pixels_prepare,
                                            .run = pixels_run};
  return &backend;
}

#endif
