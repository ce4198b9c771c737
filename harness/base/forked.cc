#include "harness/base/forked.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include "harness/base/address_space.h"
#include "harness/base/forked_process.h"
#include "harness/base/pipe.h"

namespace qconform {
namespace {

// In front of what the child writes.
constexpr char kResult = 'r';
constexpr char kError = 'e';

void limit(int resource, std::uint64_t value) {
  const rlimit both{value, value};
  (void)::setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

std::string read_all(int descriptor) {
  std::string bytes;
  char block[1 << 16];
  while (true) {
    const ssize_t count = ::read(descriptor, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return bytes;
    bytes.append(block, static_cast<std::size_t>(count));
  }
}

// The child's life: works, writes what came of it to the pipe, and leaves without running destructors or
// exit handlers, which belong to the parent.
[[noreturn]] void work_and_leave(const ForkLimits& limits, const std::function<Result<std::string>()>& work,
                                 int descriptor) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, limits.cpu_seconds);
  if (kCanLimitAddressSpace) limit(RLIMIT_AS, limits.address_space);
  (void)::close(STDERR_FILENO);  // a sanitizer's report of a library's crash is no report on us
  bool written = false;
  try {
    const auto result = work();
    written = write_all(descriptor, result ? kResult + *result : kError + result.error().message);
  } catch (const std::exception&) {
  } catch (...) {
  }
  ::_exit(written ? 0 : 1);
}

}  // namespace

Result<std::string> run_forked(const std::string& field, const ForkLimits& limits,
                               const std::function<Result<std::string>()>& work) {
  const auto failed = [&] { return fail(field, std::generic_category().message(errno)); };
  Pipe pipe;
  if (!pipe.open()) return failed();
  ForkedProcess child(ForkedProcess::Group::own, [&] {
    pipe.read.close();
    work_and_leave(limits, work, pipe.write.get());
  });
  if (!child.is_running()) return failed();
  pipe.write.close();
  std::string bytes = read_all(pipe.read.get());
  const int status = child.wait();
  if (WIFSIGNALED(status)) return fail(field, "the library died of signal " + std::to_string(WTERMSIG(status)));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || bytes.empty()) return fail(field, "the library gave up");
  const bool worked = bytes.front() == kResult;
  bytes.erase(0, 1);
  if (!worked) return fail(field, std::move(bytes));
  return bytes;
}

}  // namespace qconform
