/* Takes one argument, "reason", with which it declines everything. */
#define OWN_ENTRY
#include "row.h"

static int open_with(const struct qc_setup* setup, void** state, struct qc_reason* reason) {
  for (size_t i = 0; i < setup->argument_count; ++i) {
    const struct qc_argument* argument = setup->arguments[i];
    if (strcmp(argument->key, "reason") != 0) {
      snprintf(reason->text, reason->text_size, "no argument %s, only reason", argument->key);
      return QC_REJECTED;
    }
    *state = strdup(argument->value);
  }
  return QC_OK;
}

static int supports_nothing(void* state, const struct qc_graph* graph, struct qc_reason* reason) {
  (void)graph;
  return refuse(reason, state == NULL ? "no reason" : state);
}

const struct qc_backend* qconform_backend(void) {
  static struct qc_backend backend = ROW_BACKEND;
  backend.open = open_with;
  backend.close = free;
  backend.supports = supports_nothing;
  return &backend;
}
