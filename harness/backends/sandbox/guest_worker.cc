#include "harness/backends/sandbox/guest_worker.h"

#include <fcntl.h>

#include <cerrno>
#include <chrono>
#include <deque>
#include <system_error>
#include <thread>
#include <vector>

#include "harness/backends/sandbox/disk_channel.h"
#include "harness/backends/sandbox/message.h"
#include "harness/base/pipe.h"

namespace qconform {
namespace {

constexpr auto kPause = std::chrono::milliseconds(1);
// Each time that answers are shown costs two writes to the emulated disk.
constexpr int kShownTogether = 16;

class GuestWorker {
 public:
  explicit GuestWorker(DiskChannel& line) : line_(line) {}

  void greet(const Hello& hello) {
    put(hello);
    line_.flush();
  }

  void serve(Worker& worker) {
    while (!line_.is_damaged()) {
      if (cases_.size() < worker.depth() && take(worker)) continue;
      if (cases_.empty()) {
        line_.flush();
        std::this_thread::sleep_for(kPause);
      } else {
        finish(worker);
      }
    }
  }

 private:
  // Starts the next request. False where none is there.
  bool take(Worker& worker) {
    const auto message = line_.receive();
    if (!message) return false;
    Case& test_case = cases_.emplace_back();
    if (!decode_case(message->bytes, test_case)) test_case = {};
    if (message->mark == 0) {
      worker.start(test_case);
      return true;
    }
    // Runs alone; answers keep the order of requests.
    const Case alone = std::move(test_case);
    cases_.pop_back();
    while (!cases_.empty()) finish(worker);
    answer(worker.examine(alone));
    return true;
  }

  void finish(Worker& worker) {
    answer(worker.finish());
    cases_.pop_front();
  }

  void answer(const Outcome& outcome) {
    if (encoded_size(outcome) <= DiskChannel::kLargestMessage) return put(outcome);
    put(Outcome(outcome::Unsupported{"the output is larger than what a worker gives"}));
  }

  template <typename T>
  void put(const T& value) {
    bytes_.resize(encoded_size(value));
    encode(value, bytes_);
    while (!line_.has_room(bytes_.size()) && !line_.is_damaged()) {
      line_.flush();
      std::this_thread::sleep_for(kPause);
    }
    line_.send(bytes_, 0);
    if (++unseen_ % kShownTogether == 0) line_.flush();
  }

  DiskChannel& line_;
  std::deque<Case> cases_;  ///< started and not finished
  std::vector<std::byte> bytes_;
  int unseen_ = 0;
};

}  // namespace

Result<void> run_guest(const OpenBackend& open, const std::string& disk, const SandboxLimits& limits) {
  const Descriptor file(::open(disk.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC));
  if (file.get() < 0) return fail(disk, std::generic_category().message(errno));
  DiskChannel line(file.get(), DiskChannel::Side::guest);
  GuestWorker desk(line);
  const auto backend = open_in_sandbox(open, "", limits);
  Hello hello;
  if (backend) {
    hello.info = (*backend)->info();
  } else {
    hello.error = backend.error().field == "--backend" ? backend.error().message : backend.error().text();
  }
  desk.greet(hello);
  if (backend) desk.serve(*(*backend)->worker());
  // Its end would turn the machine off before the other side has read why.
  while (!line.is_damaged()) std::this_thread::sleep_for(std::chrono::seconds(1));
  return {};
}

}  // namespace qconform
