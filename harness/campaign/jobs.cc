#include "harness/campaign/driver.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/bytes.h"
#include "harness/base/error.h"
#include "harness/base/process.h"
#include "harness/base/stopwatch.h"
#include "harness/campaign/campaign_aggregate.h"
#include "harness/core/fields.h"
#include "harness/forms/archive/archive.h"

namespace qconform::campaign {
namespace {

// The messages in the pipes between a campaign and its jobs. Both ends are the same program, but what a backend does in
// a job may reach the pipe too: each message says what it is and carries a checksum.
constexpr std::uint64_t kMark = 0x31424F4A'514389AA;
constexpr std::uint64_t kMostPayload = std::uint64_t{256} << 20;

struct Head {
  std::uint64_t mark = kMark;
  std::uint32_t kind = 0;
  std::uint32_t length = 0;
  Span span;
  std::uint64_t check = 0;  // check_of() the numbers above and the payload
};

std::uint64_t check_of(const Head& head, std::string_view payload) {
  Digest digest;
  for (const std::uint64_t word : {std::uint64_t{head.kind}, head.span.first, head.span.blocks, head.span.cases}) {
    digest.add(word);
  }
  digest.add(payload);
  return digest.value();
}

template <typename Plain>
std::string_view bytes_of(const Plain& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

void send(int file, JobMessage::Kind kind, const Span& span, const std::string& payload) {
  Head head{kMark, static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(payload.size()), span, 0};
  head.check = check_of(head, payload);
  if (!write_all(file, bytes_of(head)) || !write_all(file, payload)) _exit(0);
}

// False at the end of the requests.
bool receive_command(int file, Span& command) {
  return read_all_of(file, &command, sizeof command);
}

void send_error(int file, const std::string& error) {
  send(file, JobMessage::Kind::failed, {}, error);
}

// Keeps what the backends that a job has opened say of themselves.
struct Opened {
  QC_DESCRIBED();
  QC_FIELD(std::vector<BackendInfo>, infos, {}, "infos");
};

void send_block(int file, const Span& span, const std::string& aggregate) {
  send(file, JobMessage::Kind::done, span, aggregate);
}

// Removes the first complete message from `received`; nothing where none is there. An error: what is there is none.
Result<std::optional<JobMessage>> take_message(std::string& received) {
  Head head;
  if (received.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, received.data(), sizeof head);
  const bool is_one = head.mark == kMark && head.length <= kMostPayload &&
                      head.kind < static_cast<std::uint32_t>(JobMessage::Kind::replaced);
  if (!is_one) return fail("", "sent what is no message");
  if (received.size() - sizeof head < head.length) return std::nullopt;
  JobMessage message;
  message.kind = static_cast<JobMessage::Kind>(head.kind);
  std::string payload = received.substr(sizeof head, head.length);
  if (head.check != check_of(head, payload)) return fail("", "sent a message whose checksum is wrong");
  received.erase(0, sizeof head + head.length);
  if (message.kind == JobMessage::Kind::failed) message.error = std::move(payload);
  if (message.kind == JobMessage::Kind::done) message.record = {RecordKind::blocks, head.span, std::move(payload)};
  if (message.kind == JobMessage::Kind::opened) {
    QCONFORM_ASSIGN(auto opened, from_cbor<Opened>(payload, "a job's backends"));
    message.infos = std::move(opened.infos);
  }
  return message;
}

std::string end_text(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit status {}", WEXITSTATUS(status));
  return fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
}

// One block runs and one waits, so that a job need not wait for the process that writes the journal.
constexpr std::size_t kSupplied = 2;

void discard_rest(int file) {
  char bytes[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file, bytes, sizeof bytes);
    if (count == 0 || (count < 0 && errno != EINTR)) return;
  }
}

}  // namespace

Jobs::Jobs(int count, const OpenBackends& open, const BlockOptions& options, const std::function<void()>& close_files)
    : open_(open), options_(options), close_files_(close_files) {
  const auto number = static_cast<std::size_t>(count);
  shared_size_ = (number + 1) * sizeof(std::atomic<std::uint64_t>);
  void* memory = mmap(nullptr, shared_size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw MachineFailure("cannot share memory with jobs", errno);
  stop_ = static_cast<std::atomic<std::uint64_t>*>(memory);  // zeros are right for all of it
  cases_ = stop_ + 1;
  jobs_.resize(number);
  for (std::size_t i = 0; i < number; ++i) start(i);
}

Jobs::~Jobs() {
  jobs_.clear();
  (void)munmap(stop_, shared_size_);
}

void Jobs::start(std::size_t number) {
  Job& job = jobs_[number];
  job.process.end();
  Pipe commands;
  Pipe messages;
  if (!commands.open() || !messages.open()) throw MachineFailure("cannot make a pipe for a job", errno);
  job.process = ForkedProcess(ForkedProcess::Group::shared, [&] {
    close_files_();
    for (Job& other : jobs_) {
      other.to.close();
      other.from.close();
    }
    commands.write.close();
    messages.read.close();
    close_all_but(std::array{commands.read.get(), messages.write.get()});
    run(number, commands.read.get(), messages.write.get());
  });
  if (!job.process.is_running()) throw MachineFailure("cannot start a job", errno);
  job.to = std::move(commands.write);
  job.from = std::move(messages.read);
  job.received.clear();
  for (const Span& blocks : job.blocks) send_command(job, blocks);
}

// A job that is gone is noticed where its messages end. It exits where the other end of the pipe is closed.
void Jobs::send_command(Job& job, const Span& blocks) {
  write_all(job.to.get(), bytes_of(blocks));
}

namespace {

// Holds the blocks that a job has done and not sent. A record for each half second costs a hundredth of one for each
// block.
class UnsentBlocks {
 public:
  // `cases`: how many cases are done and not sent.
  UnsentBlocks(int file, double sum_seconds, std::atomic<std::uint64_t>& cases)
      : file_(file), sum_seconds_(sum_seconds), cases_(cases) {
    cases_ = 0;
  }

  void add(BlockResult done) {
    const bool fails_anew = note_failures(done.aggregate, told_);
    if (done.span.cases == 0) {
      send();
      send_block(file_, done.span, encode_aggregate(done.aggregate));
      return;
    }
    static_cast<void>(blocks_.insert(done.span, std::move(done.aggregate)));
    if (fails_anew || seconds_since(sent_) >= sum_seconds_) send();
  }

  void send() {
    for (const auto* map : {&blocks_.spans().whole(), &blocks_.spans().parts()}) {
      for (const auto& [first, entry] : *map) send_block(file_, entry.first, encode_aggregate(entry.second));
    }
    blocks_ = {};
    cases_ = 0;
    sent_ = std::chrono::steady_clock::now();
  }

 private:
  int file_;
  double sum_seconds_;
  std::atomic<std::uint64_t>& cases_;
  BlockAggregates blocks_;
  std::set<FailureKey> told_;
  std::chrono::steady_clock::time_point sent_ = std::chrono::steady_clock::now();
};

// Runs the blocks of one command, or up to the case at which the jobs are to stop.
Result<void> run_blocks(const Span& command, std::vector<std::unique_ptr<Backend>>& backends,
                        const BlockOptions& options, UnsentBlocks& unsent) {
  for (std::uint64_t i = 0; i < command.blocks; ++i) {
    QCONFORM_ASSIGN(auto done, run_block(command.first + i, command.cases, backends, options));
    const bool is_stopped = done.span.cases < command.cases;
    unsent.add(std::move(done));
    if (is_stopped) break;
  }
  unsent.send();
  return {};
}

}  // namespace

void Jobs::run(std::size_t number, int commands, int messages) {
  // Workers of this job do not get the memory that it shares with the campaign.
  (void)madvise(stop_, shared_size_, MADV_DONTFORK);
  try {
    auto backends = open_();
    if (!backends) {
      send_error(messages, backends.error().text());
      _exit(0);
    }
    Opened opened;
    for (const auto& backend : *backends) opened.infos.push_back(backend->info());
    send(messages, JobMessage::Kind::opened, {}, to_cbor(opened));
    std::atomic<std::uint64_t>& cases = cases_[number];
    options_.stop = [this] { return stop_->load(std::memory_order_relaxed) != 0; };
    options_.progress = [&cases] { cases.fetch_add(1, std::memory_order_relaxed); };
    UnsentBlocks unsent(messages, options_.sum_seconds, cases);
    for (Span command; receive_command(commands, command);) {
      if (const auto done = run_blocks(command, *backends, options_, unsent); !done) {
        send_error(messages, done.error().text());
        break;
      }
    }
    backends->clear();
  } catch (const std::exception& error) {
    send_error(messages, error.what());
  }
  _exit(0);
}

std::size_t Jobs::under_way() const {
  std::size_t sum = 0;
  for (const Job& job : jobs_) {
    for (const Span& blocks : job.blocks) sum += blocks.blocks;
  }
  return sum;
}

std::optional<std::size_t> Jobs::next_idle() const {
  std::optional<std::size_t> hungriest;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (jobs_[i].blocks.size() >= kSupplied) continue;
    if (!hungriest || jobs_[i].blocks.size() < jobs_[*hungriest].blocks.size()) hungriest = i;
  }
  return hungriest;
}

void Jobs::submit(std::size_t job, const Span& blocks) {
  jobs_[job].blocks.push_back(blocks);
  send_command(jobs_[job], jobs_[job].blocks.back());
}

void Jobs::stop() {
  *stop_ = 1;
}

std::uint64_t Jobs::cases_under_way() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < jobs_.size(); ++i) sum += cases_[i].load(std::memory_order_relaxed);
  return sum;
}

Result<std::vector<JobMessage>> Jobs::wait(double seconds) {
  std::vector<pollfd> files;
  for (const Job& job : jobs_) files.push_back({job.from.get(), POLLIN, 0});
  std::vector<JobMessage> messages;
  if (poll(files.data(), files.size(), static_cast<int>(seconds * 1000)) <= 0) return messages;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (files[i].revents == 0) continue;
    QCONFORM_TRY(receive(i, messages));
  }
  return messages;
}

Result<void> Jobs::receive(std::size_t number, std::vector<JobMessage>& messages) {
  Job& job = jobs_[number];
  char bytes[1 << 16];
  const ssize_t count = ::read(job.from.get(), bytes, sizeof bytes);
  if (count < 0 && errno == EINTR) return {};
  if (count <= 0) return replace(number, end_text(job.process.wait()), messages);
  job.received.append(bytes, static_cast<std::size_t>(count));
  for (;;) {
    auto message = take_message(job.received);
    if (!message) return replace(number, message.error().message, messages);
    if (!*message) return {};
    if (!take(job, std::move(**message), messages)) return replace(number, "sent another block's results", messages);
  }
}

namespace {

// Removes the blocks that are done from those that a job was asked for; a part of a block ends its command. False where
// they are not the next ones.
bool take_blocks(const Span& done, std::deque<Span>& asked) {
  if (asked.empty()) return false;
  Span& next = asked.front();
  const bool is_part = done.cases < next.cases;
  if (!done.is_valid() && done.cases != 0) return false;
  if (done.first != next.first || done.blocks > next.blocks || done.cases > next.cases) return false;
  if (is_part && done.blocks != 1) return false;
  if (is_part || done.blocks == next.blocks) {
    asked.pop_front();
    return true;
  }
  next.first += done.blocks;
  next.blocks -= done.blocks;
  return true;
}

}  // namespace

// False where it is not what the job was asked for.
bool Jobs::take(Job& job, JobMessage message, std::vector<JobMessage>& messages) {
  if (message.kind == JobMessage::Kind::done && !take_blocks(message.record.span, job.blocks)) return false;
  job.ends = 0;
  messages.push_back(std::move(message));
  return true;
}

namespace {

// A job that ends now and then must get on: each block that it does is sent.
void send_first_block_alone(std::deque<Span>& blocks) {
  if (blocks.empty() || blocks.front().blocks == 1) return;
  Span first = blocks.front();
  first.blocks = 1;
  ++blocks.front().first;
  --blocks.front().blocks;
  blocks.push_front(first);
}

}  // namespace

Result<void> Jobs::replace(std::size_t number, const std::string& why, std::vector<JobMessage>& messages) {
  Job& job = jobs_[number];
  std::string where = "while it opened its backends";
  if (!job.blocks.empty()) {
    const Span& blocks = job.blocks.front();
    const std::uint64_t done = cases_[number].load(std::memory_order_relaxed) / kBlockCases;
    const std::uint64_t block = blocks.first + std::min(done, blocks.blocks - 1);
    const std::uint64_t first = block * kBlockCases;
    where = fmt::format("in block {} (cases {} to {})", block, first, first + kBlockCases - 1);
  }
  if (++job.ends >= kMostEnds) {
    return fail("--jobs",
                fmt::format("job {} {} {}, {} times in a row: a backend that runs inside it may have crashed; with "
                            "--isolation all that is a finding. The journal holds the finished blocks: --resume "
                            "continues from there",
                            number + 1, why, where, job.ends));
  }
  send_first_block_alone(job.blocks);
  start(number);
  JobMessage replaced;
  replaced.kind = JobMessage::Kind::replaced;
  replaced.error = fmt::format("job {} {} {}: another one takes its place and runs that again", number + 1, why, where);
  messages.push_back(std::move(replaced));
  return {};
}

void Jobs::finish() {
  stop();
  for (Job& job : jobs_) job.to.close();
  for (Job& job : jobs_) {
    // If the campaign ends early, as on a full disk, the jobs may still write more than a pipe holds.
    discard_rest(job.from.get());
    job.process.wait();
  }
}

}  // namespace qconform::campaign
