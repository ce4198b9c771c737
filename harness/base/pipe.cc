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

NoPipeSignal::NoPipeSignal() {
  (void)sigemptyset(&pipe_);
  (void)sigaddset(&pipe_, SIGPIPE);
  (void)pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
}

NoPipeSignal::~NoPipeSignal() {
  const timespec at_once{};
  (void)sigtimedwait(&pipe_, nullptr, &at_once);
  (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool read_all_of(int descriptor, void* to, std::size_t size) {
  auto* next = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t count = ::read(descriptor, next, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    next += count;
    size -= static_cast<std::size_t>(count);
  }
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
