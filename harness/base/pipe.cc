#include "harness/base/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace qconform {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    value_ = other.take();
  }
  return *this;
}

void Descriptor::close() {
  if (value_ >= 0) (void)::close(take());
}

bool Pipe::open(int flags) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | flags) != 0) return false;
  read = Descriptor(ends[0]);
  write = Descriptor(ends[1]);
  return true;
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace qconform
