/* DequantizeLinear of uint8, wrong by one. Whatever it says tries to control the reader's terminal: it clears the
   screen, names the window, turns text around, and states a line of its own. */
#include "linear.h"

#define SHOUT                       \
  "\x1b[2J\x1b]0;owned\x07\xc2\x9b" \
  "31m\xe2\x80\xae\r\nFORGED: conforms\x7f\xff\x08"

static int supports(void* state, const struct qc_graph* graph, struct qc_reason* reason) {
  (void)state;
  if (is_uint8(graph)) return QC_OK;
  snprintf(reason->text, reason->text_size, "%s", SHOUT "not today");
  return QC_UNSUPPORTED;
}

static int run(void* state, void* node, const struct qc_run* run, struct qc_reason* reason) {
  (void)state, (void)node;
  printf("out %s\n", SHOUT);
  fprintf(stderr, "err %s\n", SHOUT);
  fflush(stdout);
  if (run->inputs[0]->rank > 2) {
    snprintf(reason->text, reason->text_size, "%s", SHOUT "too many dimensions");
    return QC_REJECTED;
  }
  return dequantize(run, 1);
}

const struct qc_backend* qconform_backend(void) {
  static const struct qc_backend backend = {
      .size = sizeof backend, .name = "shouts" SHOUT, .version = "1.0" SHOUT, .supports = supports, .run = run};
  return &backend;
}
