// Messages between two machines that share a disk and nothing else: qconform and an emulated machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace qconform {

/// A file that both sides read and write: one machine as a file, the other as a disk. Each side has a sector in which
/// it counts what it has sent and received, and a ring of bytes for what it sends. Nobody is woken: the receiver asks
/// again.
///
///     DiskChannel line(file, DiskChannel::Side::host);
///     if (line.has_room(size)) line.send(bytes, 0);
///     line.flush();
///     while (!(answer = line.receive())) pause();
class DiskChannel {
 public:
  enum class Side : std::uint8_t { host, guest };
  struct Message {
    std::span<const std::byte> bytes;  ///< valid until the next receive()
    std::uint32_t mark = 0;
  };

  static constexpr std::size_t kSector = 512;
  static constexpr std::size_t kRing = std::size_t{16} << 20;
  static constexpr std::size_t kLargestMessage = kRing / 4;
  /// Bytes of an old disk's cylinder; the file, of kBytes, holds a whole number of them.
  static constexpr std::size_t kCylinder = 16 * 63 * kSector;
  static constexpr std::size_t kBytes = (2 * kRing / kCylinder + 2) * kCylinder;

  /// `file` stays the caller's. A disk is opened with O_DIRECT: what lies in between must not keep old sectors.
  DiskChannel(int file, Side side);

  /// Whether a message of so many bytes can be sent now; it need never be so for more than kLargestMessage.
  [[nodiscard]] bool has_room(std::size_t bytes);
  /// The other side sees it after flush(), or before. There must be room.
  void send(std::span<const std::byte> bytes, std::uint32_t mark);
  void flush();
  /// The next message, if it is there.
  [[nodiscard]] std::optional<Message> receive();
  /// Whether what came from the other side makes no sense, or the file cannot be read or written. Nothing more comes.
  [[nodiscard]] bool is_damaged() const { return damaged_; }

 private:
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t check = 0;
  };
  struct Frame {
    std::uint64_t bytes = 0;
    std::uint32_t mark = 0;
    std::uint32_t reserved = 0;
  };

  [[nodiscard]] static std::uint64_t check_of(const Counts& counts);
  [[nodiscard]] static std::size_t framed(std::size_t bytes);
  [[nodiscard]] std::size_t ring_of(bool own) const;
  void append(std::span<const std::byte> bytes);
  void write_pending();
  void write_counts();
  void look_at_counts();
  void fetch();
  [[nodiscard]] bool transfer(bool is_write, std::size_t offset, std::size_t bytes);

  int file_;
  Side side_;
  bool damaged_ = false;
  std::unique_ptr<std::byte, void (*)(void*)> block_;  ///< a buffer for the disk, which wants whole pages
  std::vector<std::byte> pending_;                     ///< messages that are sent, and not written
  std::uint64_t sent_ = 0;                             ///< bytes written since the beginning, as all counts are
  std::uint64_t fetched_ = 0;
  std::uint64_t published_ = 0;  ///< the count of fetched_ that the other side has been told
  Counts others_;
  std::vector<std::byte> arrived_;
  std::size_t taken_ = 0;  ///< how many bytes of arrived_ are received
};

}  // namespace qconform
