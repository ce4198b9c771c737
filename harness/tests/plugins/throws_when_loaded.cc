// A library whose static constructor throws.
#include <qconform/backend.h>

#include <stdexcept>

namespace {

struct Thrower {
  Thrower() { throw std::runtime_error("when loaded"); }
} thrower;

}  // namespace

const qc_backend* qconform_backend() {
  return nullptr;
}
