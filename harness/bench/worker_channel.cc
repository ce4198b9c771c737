#include "harness/bench/worker_channel.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "harness/base/futex.h"

namespace qconform::bench {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

using Clock = std::chrono::steady_clock;

constexpr std::size_t kGrowth = std::size_t{1} << 20;

}  // namespace

SharedBlock::SharedBlock() : file_(memfd_create("qconform", MFD_CLOEXEC)) {
  if (file_ < 0) throw std::bad_alloc();
  void* memory = mmap(nullptr, kLargest, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) {
    (void)close(file_);
    throw std::bad_alloc();
  }
  memory_ = static_cast<std::byte*>(memory);
}

SharedBlock::~SharedBlock() {
  (void)munmap(memory_, kLargest);
  (void)close(file_);
}

std::span<std::byte> SharedBlock::reserve(std::size_t bytes) {
  if (bytes > kLargest) return {};
  if (bytes > size_) {
    const std::size_t size = (bytes + kGrowth - 1) / kGrowth * kGrowth;
    if (ftruncate(file_, static_cast<off_t>(size)) != 0) return {};
    size_ = size;
  }
  return {memory_, bytes};
}

std::span<const std::byte> SharedBlock::view(std::size_t bytes) const {
  if (bytes > size_) {
    struct stat status {};
    if (fstat(file_, &status) != 0 || bytes > static_cast<std::size_t>(status.st_size)) return {};
  }
  return {memory_, bytes};
}

void SharedBlock::make_read_only() {
  (void)mprotect(memory_, kLargest, PROT_READ);
}

void ring(std::atomic<std::uint32_t>& bell) {
  bell.fetch_add(1, std::memory_order_release);
  wake_all(bell);
}

bool wait_for_ring(const std::atomic<std::uint32_t>& bell, std::uint32_t seen, std::chrono::nanoseconds patience) {
  const auto start = Clock::now();
  while (bell.load(std::memory_order_acquire) == seen) {
    const auto left = patience - (Clock::now() - start);
    if (left <= std::chrono::nanoseconds::zero()) return false;
    sleep_while(bell, seen, left);
  }
  return true;
}

WorkerChannel::WorkerChannel() {
  void* memory = mmap(nullptr, sizeof(Doorbells), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  bells = new (memory) Doorbells();
}

WorkerChannel::~WorkerChannel() {
  (void)munmap(bells, sizeof(Doorbells));
}

}  // namespace qconform::bench
