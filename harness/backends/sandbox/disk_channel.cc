#include "harness/backends/sandbox/disk_channel.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace qconform {
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
std::uint64_t DiskChannel::check_of(const Counts& counts) {
  constexpr std::uint64_t kSeed = 0x71636f6e666f726dU;  // none of a disk that nobody has written to
  return (counts.sent * 0x9e3779b97f4a7c15U) ^ (counts.received * 0xbf58476d1ce4e5b9U) ^ kSeed;
}

std::size_t DiskChannel::framed(std::size_t bytes) {
  return whole_sectors(sizeof(Frame) + bytes);
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
  const Frame frame{bytes.size(), mark};
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
  Counts counts{sent_, fetched_};
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
  Counts counts;
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

std::optional<DiskChannel::Message> DiskChannel::receive() {
  if (damaged_) return std::nullopt;
  if (taken_ == arrived_.size()) {
    arrived_.clear();
    taken_ = 0;
    look_at_counts();
    if (!damaged_) fetch();
  }
  // A flush() in the middle of a message does not show a part of it: it follows whole messages.
  if (damaged_ || taken_ == arrived_.size()) return std::nullopt;
  Frame frame;
  std::memcpy(&frame, arrived_.data() + taken_, sizeof frame);
  const std::size_t left = arrived_.size() - taken_;
  if (frame.bytes > kLargestMessage || framed(frame.bytes) > left) {
    damaged_ = true;
    return std::nullopt;
  }
  const Message message{std::span(arrived_).subspan(taken_ + sizeof frame, frame.bytes), frame.mark};
  taken_ += framed(frame.bytes);
  return message;
}

}  // namespace qconform
