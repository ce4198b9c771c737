#include "harness/backends/sandbox/channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "harness/backends/worker_command.h"
#include "harness/base/bytes.h"
#include "harness/base/error.h"
#include "harness/base/process.h"

namespace qconform {
namespace {

using Clock = std::chrono::steady_clock;

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

constexpr std::uint32_t kBatch = CaseChannel::kSlots / 2;

// Whether a count that wraps around has come as far as another.
bool reached(std::uint32_t count, std::uint32_t other) {
  return static_cast<std::int32_t>(count - other) >= 0;
}

}  // namespace

std::size_t slot_bytes_here() {
  return backend::is_emulated() ? CaseChannel::kEmulatedSlotBytes : CaseChannel::kUsualSlotBytes;
}

CaseChannel::CaseChannel(std::size_t slot_bytes)
    : file_(memfd_create("qconform", MFD_CLOEXEC | MFD_ALLOW_SEALING)), slot_bytes_(slot_bytes) {
  static_assert(sizeof(Control) <= kControlBytes);
  constexpr const char* kWhat = "cannot share memory with a worker process";
  if (file_ < 0) throw MachineFailure(kWhat, errno);
  if (ftruncate(file_, static_cast<off_t>(bytes_mapped())) != 0) {
    const int error = errno;
    (void)close(file_);
    throw MachineFailure(kWhat, error);
  }
  // A worker that cut the file short would end this process with SIGBUS.
  (void)fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  map(bytes_mapped());
  (void)madvise(control_, mapped_, MADV_DONTFORK);
  control_ = new (control_) Control();
  control_->layout = kLayout;
  control_->slot_bytes = slot_bytes;
}

CaseChannel::CaseChannel(int file, Inherited /*tag*/) : file_(file) {
  struct stat status {};
  if (fstat(file_, &status) != 0 || status.st_size <= static_cast<off_t>(kControlBytes)) {
    throw std::runtime_error("--channel: no shared memory of qconform");
  }
  map(static_cast<std::size_t>(status.st_size));
  slot_bytes_ = control_->slot_bytes;
  if (control_->layout != kLayout || bytes_mapped() != mapped_) {
    throw std::runtime_error("this qconform and the one that started it were built from different sources");
  }
  (void)close(std::exchange(file_, -1));
}

CaseChannel::~CaseChannel() {
  (void)munmap(control_, mapped_);
  if (file_ >= 0) (void)close(file_);
}

void CaseChannel::map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    (void)close(file_);
    throw MachineFailure("cannot map the memory that a worker process shares", error);
  }
  control_ = static_cast<Control*>(memory);
  mapped_ = bytes;
}

std::size_t CaseChannel::bytes_mapped() const {
  return kControlBytes + 2 * kSlots * (kSmallMessage + slot_bytes_);
}

std::size_t CaseChannel::offset_of(std::uint32_t number, Direction direction, std::size_t bytes) const {
  const std::size_t slot = direction * kSlots + number % kSlots;
  if (bytes <= kSmallMessage) return kControlBytes + slot * kSmallMessage;
  return kControlBytes + 2 * kSlots * kSmallMessage + slot * slot_bytes_;
}

std::optional<std::span<std::byte>> CaseChannel::room(std::uint32_t number, Direction direction,
                                                      std::size_t bytes) const {
  if (bytes > slot_bytes_) return std::nullopt;
  return std::span(at(offset_of(number, direction, bytes)), bytes);
}

// `bytes` may be anything: the worker's memory is not to be trusted.
std::span<const std::byte> CaseChannel::content(std::uint32_t number, Direction direction, std::size_t bytes) const {
  return {at(offset_of(number, direction, bytes)), std::min(bytes, slot_bytes_)};
}

void CaseChannel::post(std::uint32_t number, std::size_t bytes, RunMode mode) {
  message(number).request_bytes = bytes;
  message(number).mode = mode;
  control_->posted = number + 1;
  if ((number + 1) % kBatch == 0) wake_worker();
}

void CaseChannel::wake_worker() {
  if (control_->worker_sleeps) wake_all(control_->posted);
}

bool CaseChannel::wait_for_count(std::uint32_t count, std::uint32_t enough, std::chrono::nanoseconds patience) {
  if (reached(control_->answered.load(std::memory_order_acquire), count)) return true;
  wake_worker();
  const auto deadline = Clock::now() + patience;
  control_->awaited = enough;
  control_->asker_sleeps = true;
  bool is_there = false;
  for (;;) {
    const std::uint32_t seen = control_->answered;
    is_there = reached(seen, count);
    const auto left = deadline - Clock::now();
    if (is_there || left <= std::chrono::nanoseconds::zero()) break;
    if (control_->worker_ends) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      break;
    }
    sleep_while(control_->answered, seen, left);
  }
  control_->asker_sleeps = false;
  return is_there;
}

bool CaseChannel::wait_for_answer(std::uint32_t number, std::uint32_t posted, std::chrono::nanoseconds patience) {
  // The answer to request 0 makes the count 2.
  const std::uint32_t due = std::min(posted - number, kBatch);
  return wait_for_count(number + 2, number + 1 + due, patience);
}

bool CaseChannel::wait_for_hello(std::chrono::nanoseconds patience) {
  return wait_for_count(1, 1, patience);
}

bool CaseChannel::is_sound(std::uint32_t received, std::uint32_t posted) const {
  const std::uint32_t answered = control_->answered;
  return control_->layout == kLayout && control_->slot_bytes == slot_bytes_ && control_->posted == posted &&
         reached(answered, received + 1) && reached(posted + 1, answered);
}

std::uint64_t CaseChannel::check_of(std::uint32_t number, std::span<const std::byte> bytes) {
  Digest digest;
  digest.add(std::uint64_t{number});
  digest.add(std::uint64_t{bytes.size()});
  digest.add(bytes);
  return digest.value();
}

std::optional<std::span<const std::byte>> CaseChannel::answer(std::uint32_t number) const {
  const std::span<const std::byte> bytes = content(number, kAnswers, message(number).answer_bytes);
  if (check_of(number, bytes) != message(number).answer_check) return std::nullopt;
  return bytes;
}

// In the course of hours every slot would have had a large message.
void CaseChannel::release(std::uint32_t number) {
  const auto give_back = [&](Direction direction, std::size_t bytes) {
    if (bytes <= kSmallMessage) return;
    (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(offset_of(number, direction, bytes)),
                    static_cast<off_t>(std::min(bytes, slot_bytes_)));
  };
  give_back(kRequests, message(number).request_bytes);
  give_back(kAnswers, message(number).answer_bytes);
}

bool CaseChannel::is_under_way(std::uint32_t number, Clock::time_point& since) const {
  if (control_->begun != number + 1) return false;
  since = Clock::time_point(std::chrono::nanoseconds(control_->begun_at));
  return true;
}

void CaseChannel::make_requests_read_only() {
  for (const std::size_t size : {kSmallMessage, slot_bytes_}) {
    (void)mprotect(at(offset_of(0, kRequests, size)), kSlots * size, PROT_READ);
  }
}

void CaseChannel::begin_again() {
  control_->begun_at = std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
}

CaseChannel::Request CaseChannel::take(std::uint32_t number) {
  while (control_->posted.load(std::memory_order_acquire) == number) {
    control_->worker_sleeps = true;
    // The other side stores `posted` before it looks whether anybody sleeps; here it is the reverse.
    if (control_->posted == number) sleep_while(control_->posted, number, std::chrono::hours(1));
    control_->worker_sleeps = false;
  }
  begin_again();
  control_->begun = number + 1;
  return {content(number, kRequests, message(number).request_bytes), message(number).mode};
}

void CaseChannel::count_answer(std::uint32_t count) {
  control_->answered = count;
  if (control_->asker_sleeps && reached(count, control_->awaited)) {
    wake_all(control_->answered);
  }
}

void CaseChannel::put(std::uint32_t number, std::size_t bytes) {
  message(number).answer_bytes = bytes;
  message(number).answer_check = check_of(number, content(number, kAnswers, bytes));
  count_answer(number + 2);
}

void CaseChannel::put_hello(std::size_t bytes) {
  message(0).answer_bytes = bytes;
  message(0).answer_check = check_of(0, content(0, kAnswers, bytes));
  count_answer(1);
}

void CaseChannel::say_end() {
  control_->worker_ends = true;
  wake_all(control_->answered);
}

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBlock = std::size_t{128} << 10;
constexpr std::size_t kRings = 2 * kPage;  ///< behind the counts of each side

constexpr std::size_t whole_sectors(std::size_t bytes) {
  return (bytes + DiskChannel::kSector - 1) / DiskChannel::kSector * DiskChannel::kSector;
}

static_assert(kRings + 2 * DiskChannel::kRing <= DiskChannel::kBytes && DiskChannel::kRing % kBlock == 0);

}  // namespace

DiskChannel::DiskChannel(int file, Side side)
    : file_(file), side_(side), block_(static_cast<std::byte*>(std::aligned_alloc(kPage, kBlock)), &std::free) {
  if (!block_) throw std::bad_alloc();
}

// A sector that is read while the other side writes it may be half old.
std::uint64_t DiskChannel::check_of(const MessageCounts& counts) {
  constexpr std::uint64_t kSeed = 0x71636f6e666f726dU;  // none of a disk that nobody has written to
  return (counts.sent * 0x9e3779b97f4a7c15U) ^ (counts.received * 0xbf58476d1ce4e5b9U) ^ kSeed;
}

std::size_t DiskChannel::framed(std::size_t bytes) {
  return whole_sectors(sizeof(MessageHeader) + bytes);
}

std::size_t DiskChannel::ring_of(bool own) const {
  return kRings + ((side_ == Side::host) == own ? 0 : kRing);
}

// Writes `bytes` bytes of block_ at `offset` of the file, or reads them into block_. False once the line is damaged.
bool DiskChannel::transfer(bool is_write, std::size_t offset, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes && !damaged_;) {
    const auto at = static_cast<off_t>(offset + done);
    const ssize_t count = is_write ? pwrite(file_, block_.get() + done, bytes - done, at)
                                   : pread(file_, block_.get() + done, bytes - done, at);
    if (count > 0) done += static_cast<std::size_t>(count);
    if (count == 0 || (count < 0 && errno != EINTR)) damaged_ = true;
  }
  return !damaged_;
}

bool DiskChannel::has_room(std::size_t bytes) {
  if (bytes > kLargestMessage) return false;
  const auto is_free = [&] { return sent_ + pending_.size() + framed(bytes) - others_.received <= kRing; };
  if (is_free()) return true;
  look_at_counts();
  return is_free();
}

void DiskChannel::append(std::span<const std::byte> bytes) {
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
}

void DiskChannel::send(std::span<const std::byte> bytes, std::uint32_t mark) {
  const MessageHeader frame{bytes.size(), mark};
  append(std::as_bytes(std::span(&frame, 1)));
  append(bytes);
  pending_.resize(whole_sectors(pending_.size()));
  if (pending_.size() >= kBlock) flush();
}

void DiskChannel::write_pending() {
  for (std::size_t done = 0; done < pending_.size();) {
    const std::size_t position = sent_ % kRing;
    const std::size_t size = std::min({pending_.size() - done, kBlock, kRing - position});
    std::memcpy(block_.get(), pending_.data() + done, size);
    if (!transfer(true, ring_of(true) + position, size)) return;
    done += size;
    sent_ += size;
  }
  pending_.clear();
}

void DiskChannel::write_counts() {
  MessageCounts counts{sent_, fetched_};
  counts.check = check_of(counts);
  std::memset(block_.get(), 0, kSector);
  std::memcpy(block_.get(), &counts, sizeof counts);
  (void)transfer(true, side_ == Side::host ? 0 : kPage, kSector);
  published_ = fetched_;
}

void DiskChannel::flush() {
  if (pending_.empty()) return;
  write_pending();
  write_counts();
}

void DiskChannel::look_at_counts() {
  if (!transfer(false, side_ == Side::host ? kPage : 0, kSector)) return;
  MessageCounts counts;
  std::memcpy(&counts, block_.get(), sizeof counts);
  if (counts.check != check_of(counts)) return;
  damaged_ = counts.sent < others_.sent || counts.received < others_.received || counts.received > sent_ ||
             counts.sent - fetched_ > kRing || counts.sent % kSector != 0;
  if (!damaged_) others_ = counts;
}

// Appends to arrived_ what is there.
void DiskChannel::fetch() {
  while (fetched_ < others_.sent) {
    const std::size_t position = fetched_ % kRing;
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>({others_.sent - fetched_, kBlock, kRing - position}));
    if (!transfer(false, ring_of(false) + position, size)) return;
    arrived_.insert(arrived_.end(), block_.get(), block_.get() + size);
    fetched_ += size;
  }
  // Otherwise the next flush() tells it.
  if (fetched_ - published_ > kRing / 4) write_counts();
}

std::optional<DiskChannel::DiskMessage> DiskChannel::receive() {
  if (damaged_) return std::nullopt;
  if (taken_ == arrived_.size()) {
    arrived_.clear();
    taken_ = 0;
    look_at_counts();
    if (!damaged_) fetch();
  }
  // A flush() in the middle of a message does not show a part of it: it follows whole messages.
  if (damaged_ || taken_ == arrived_.size()) return std::nullopt;
  MessageHeader frame;
  std::memcpy(&frame, arrived_.data() + taken_, sizeof frame);
  const std::size_t left = arrived_.size() - taken_;
  if (frame.bytes > kLargestMessage || framed(frame.bytes) > left) {
    damaged_ = true;
    return std::nullopt;
  }
  const DiskMessage message{std::span(arrived_).subspan(taken_ + sizeof frame, frame.bytes), frame.mark};
  taken_ += framed(frame.bytes);
  return message;
}

}  // namespace qconform
