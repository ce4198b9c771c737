/* Says that it cannot work here. */
#include <qconform/backend.h>

const struct qc_backend* qconform_backend(void) {
  return NULL;
}
