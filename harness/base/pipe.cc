#include "harness/base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <system_error>

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

namespace {

constexpr std::uint64_t kMostMessageBytes = std::uint64_t{1} << 33;  // bytes of a message

// A message is its size behind this word, its kind, and each text behind its own size.
constexpr std::size_t kWord = sizeof(std::uint64_t);

void append(std::string& bytes, std::uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), kWord);
}

std::uint64_t number_at(const std::string& bytes, std::size_t place) {
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data() + place, kWord);
  return number;
}

tl::unexpected<Error> no_message() {
  return fail("", "wrote what is no message");
}

}  // namespace

bool send(int descriptor, const PipeMessage& message) {
  std::uint64_t size = 1;
  for (const std::string& text : message.texts) size += kWord + text.size();
  std::string bytes;
  bytes.reserve(kWord + size);
  append(bytes, size);
  bytes += message.kind;
  for (const std::string& text : message.texts) {
    append(bytes, text.size());
    bytes += text;
  }
  return write_all(descriptor, bytes);
}

Result<std::optional<PipeMessage>> MessageReader::take() {
  if (bytes_.size() < kWord) return std::optional<PipeMessage>();
  const std::uint64_t size = number_at(bytes_, 0);
  if (size == 0 || size > kMostMessageBytes) return no_message();
  if (bytes_.size() - kWord < size) return std::optional<PipeMessage>();
  PipeMessage message{bytes_[kWord], {}};
  const std::size_t end = kWord + size;
  for (std::size_t place = kWord + 1; place != end;) {
    if (end - place < kWord || number_at(bytes_, place) > end - place - kWord) return no_message();
    const std::uint64_t length = number_at(bytes_, place);
    message.texts.push_back(bytes_.substr(place + kWord, length));
    place += kWord + length;
  }
  bytes_.erase(0, end);
  return std::optional(std::move(message));
}

// False where nothing came in time.
Result<bool> MessageReader::read_more(int milliseconds) {
  pollfd ready{descriptor_, POLLIN, 0};
  const int polled = ::poll(&ready, 1, milliseconds);
  if (polled == 0 || (polled < 0 && errno == EINTR)) return false;
  char block[1 << 16];
  const ssize_t count = polled < 0 ? -1 : ::read(descriptor_, block, sizeof block);
  if (count < 0 && errno == EINTR) return false;
  if (count < 0) return fail("", std::generic_category().message(errno));
  if (count == 0) return fail("", "ended");
  bytes_.append(block, static_cast<std::size_t>(count));
  return true;
}

Result<std::optional<PipeMessage>> MessageReader::next(int milliseconds) {
  while (true) {
    QCONFORM_ASSIGN(auto message, take());
    if (message) return message;
    QCONFORM_ASSIGN(const bool is_there, read_more(milliseconds));
    if (!is_there) return std::optional<PipeMessage>();
  }
}

Result<PipeMessage> MessageReader::next() {
  while (true) {
    QCONFORM_ASSIGN(auto message, next(-1));
    if (message) return std::move(*message);
  }
}

}  // namespace qconform
