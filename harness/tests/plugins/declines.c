/* DequantizeLinear of uint8, of some cases alone: DECLINES says of which it wants nothing, "all", "all-but-one" or
   "half". Its words try to clear the reader's screen. */
#include "linear.h"

static int is_asked_for(void) {
  static int cases = 0;
  const char* declined = getenv("DECLINES");
  ++cases;
  if (declined == NULL || strcmp(declined, "all") == 0) return 0;
  return strcmp(declined, "half") == 0 ? cases % 2 : cases == 1;
}

static int supports(void* state, const struct qc_graph* graph, struct qc_reason* reason) {
  (void)state;
  if (is_uint8(graph) && is_asked_for()) return QC_OK;
  snprintf(reason->text, reason->text_size, "\x1b[2Jnot today");
  return QC_UNSUPPORTED;
}

static int run(void* state, void* node, const struct qc_run* run, struct qc_reason* reason) {
  (void)state, (void)node, (void)reason;
  return dequantize(run, 0);
}

const struct qc_backend* qconform_backend(void) {
  static const struct qc_backend backend = {.size = sizeof backend,
                                            .name = "declines",
                                            .version = "1.0\x1b[2J",

                                            .capabilities = QC_SAME_INPUTS,
                                            .supports = supports,
                                            .run = run};
  return &backend;
}
