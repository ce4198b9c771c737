#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "harness/base/process.h"

namespace qconform {
namespace {

// The files of one request: the guard's ends of its two pipes, then those of the work.
constexpr std::size_t kOfTheGuard = 2;
constexpr std::size_t kMost = kOfTheGuard + 4;

struct alignas(cmsghdr) FileMessage {
  FileMessage() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = room.data();
    header.msg_controllen = room.size();
  }

  char byte = 0;
  iovec part{&byte, sizeof byte};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMost * sizeof(int))> room{};
  msghdr header{};
};

bool send_files(int socket, std::span<const int> files) {
  FileMessage message;
  message.header.msg_controllen = CMSG_SPACE(files.size_bytes());
  cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(files.size_bytes());
  std::memcpy(CMSG_DATA(control), files.data(), files.size_bytes());
  ssize_t sent = -1;
  do {
    sent = sendmsg(socket, &message.header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1;
}

// Nothing where no more requests come.
std::vector<int> receive_files(int socket) {
  FileMessage message;
  ssize_t received = -1;
  do {
    received = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  const cmsghdr* const control = received == 1 ? CMSG_FIRSTHDR(&message.header) : nullptr;
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return {};
  std::vector<int> files((control->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  std::memcpy(files.data(), CMSG_DATA(control), files.size() * sizeof(int));
  return files;
}

}  // namespace

ForkServer::ForkServer(Work work) : work_(std::move(work)) {
  static_assert(kOfTheGuard + kMostFiles == kMost);
}

bool ForkServer::begin() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  requests_ = Descriptor(ends[0]);
  const Descriptor served(ends[1]);
  server_ = ForkedProcess(ForkedProcess::Group::shared, [&] { serve(served.get()); });
  return server_.is_running();
}

// Guards that have ended are nobody's to wait for: each has reported what it had to. The end of the thread that began
// it is no end of its process, which closes the socket.
void ForkServer::serve(int requests) const {
  (void)prctl(PR_SET_PDEATHSIG, 0);
  close_all_but(std::array{requests});
  (void)signal(SIGCHLD, SIG_IGN);
  const pid_t server = getpid();
  for (;;) {
    const std::vector<int> files = receive_files(requests);
    if (files.size() < kOfTheGuard) _exit(0);
    if (::fork() == 0) {
      const std::span<const int> given = std::span(files).subspan(kOfTheGuard);
      const auto work = [&] {
        close_all_but(given);
        work_(given);
      };
      ForkedProcess::stand_guard(server, Descriptor(files[0]), Descriptor(files[1]), work);
    }
    for (const int file : files) (void)close(file);
  }
}

ForkedProcess ForkServer::request(std::span<const int> files) {
  Pipe life;
  Pipe report;
  if (!life.open() || !report.open()) return {};
  std::vector<int> all{life.read.get(), report.write.get()};
  all.insert(all.end(), files.begin(), files.end());
  if (!send_files(requests_.get(), all)) {
    const int error = errno;
    if (error == EPIPE) server_.end();
    errno = error;
    return {};
  }
  life.read.close();
  report.write.close();
  ForkedProcess started;
  started.owner_ = getpid();
  if (!started.hear_of_child(std::move(life.write), std::move(report.read))) errno = EAGAIN;
  return started;
}

ForkedProcess ForkServer::start(std::span<const int> files) {
  if (files.size() > kMostFiles) return {};
  // One that was killed may take a request before it is seen to be gone.
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if ((!server_.is_mine() || server_.poll()) && !begin()) return {};
    ForkedProcess started = request(files);
    if (started.is_running()) return started;
  }
  return {};
}

}  // namespace qconform
