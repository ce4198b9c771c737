#include "harness/backends/library.h"

namespace qconform::backend {
namespace {
std::span<const Library> offered;
}  // namespace

void offer_libraries(std::span<const Library> libraries) {
  offered = libraries;
}

std::span<const Library> offered_libraries() {
  return offered;
}

}  // namespace qconform::backend
