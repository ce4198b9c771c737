/* States a switch that no command line can have: its key begins with a digit. */
#define OWN_ENTRY
#include "row.h"

const struct qc_backend* qconform_backend(void) {
  static const struct qc_argument part = {sizeof part, "1st-fusion", "off"};
  static const struct qc_argument* const switches[] = {&part};
  static struct qc_backend backend = ROW_BACKEND;
  backend.switch_count = 1;
  backend.switches = switches;
  return &backend;
}
