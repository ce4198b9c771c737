/* Has the declarations of version 1 as they were released, in place of the header: what was built then has to load. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct qc_tensor {
  int32_t type;
  int32_t rank;
  const int64_t* dims;
  const void* data;
  size_t bytes;
};
struct qc_attribute {
  const char* name;
  int32_t kind;
  float f;
  int64_t i;
  const char* s;
  size_t count;
  const int64_t* ints;
  const float* floats;
};
struct qc_node {
  const char* op_type;
  const char* domain;
  int64_t opset_version;
  size_t attribute_count;
  const struct qc_attribute* attributes;
  size_t input_count;
  const struct qc_tensor* const* inputs;
};
struct qc_output {
  void* context;
  void* (*allocate)(void* context, int32_t type, int32_t rank, const int64_t* dims);
};
struct qc_reason {
  char* text;
  size_t size;
};
struct qc_backend {
  uint32_t abi_version;
  const char* name;
  const char* version;
  int (*supports)(const struct qc_node* node, struct qc_reason* reason);
  int (*prepare)(const struct qc_node* node, void** prepared, struct qc_reason* reason);
  void (*release)(void* prepared);
  int (*run)(const struct qc_node* node, void* prepared, const struct qc_output* output, struct qc_reason* reason);
};

/* DequantizeLinear of uint8 tensors with one scale and no zero point. */
static int run(const struct qc_node* node, void* prepared, const struct qc_output* output, struct qc_reason* reason) {
  const struct qc_tensor* x = node->inputs[0];
  (void)prepared, (void)reason;
  if (strcmp(node->op_type, "DequantizeLinear") != 0 || node->input_count != 2 || node->attribute_count != 0 ||
      x->type != 2 || node->inputs[1]->type != 1 || node->inputs[1]->rank != 0) {
    return 1;
  }
  float scale;
  memcpy(&scale, node->inputs[1]->data, sizeof scale);
  float* y = output->allocate(output->context, 1, x->rank, x->dims);
  if (y == NULL) return 2;
  for (size_t i = 0; i < x->bytes; ++i) y[i] = (float)((const uint8_t*)x->data)[i] * scale;
  return 0;
}

const struct qc_backend* qconform_backend(uint32_t abi_version);
const struct qc_backend* qconform_backend(uint32_t abi_version) {
  static const struct qc_backend backend = {1, "frozen", "1", NULL, NULL, NULL, run};
  return abi_version == 1 ? &backend : NULL;
}
