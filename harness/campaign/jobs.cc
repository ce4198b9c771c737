#include "harness/campaign/jobs.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/pipe.h"
#include "harness/campaign/aggregate_archive.h"
#include "harness/describe/fields.h"
#include "harness/describe/json_archives.h"

namespace qconform::campaign {
namespace {

// The messages in the pipes between a campaign and its jobs. Both ends are the same program.
struct BlockCommand {
  std::uint64_t block = 0;
  std::uint64_t cases = 0;
};

struct Head {
  std::uint32_t kind = 0;
  std::uint32_t length = 0;
  Span span;
};

template <typename Plain>
std::string_view bytes_of(const Plain& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

void send(int file, JobMessage::Kind kind, const Span& span, const std::string& payload) {
  const Head head{static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(payload.size()), span};
  if (!write_all(file, bytes_of(head)) || !write_all(file, payload)) _exit(0);
}

// wait() notices a dead job where its messages end. The job exits where the other end of the pipe is closed.
void send_command(int file, const BlockCommand& command) {
  write_all(file, bytes_of(command));
}

// False at the end of the requests.
bool receive_command(int file, BlockCommand& command) {
  char* to = reinterpret_cast<char*>(&command);
  for (std::size_t left = sizeof command; left > 0;) {
    const ssize_t count = ::read(file, to, left);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count;
    left -= static_cast<std::size_t>(count);
  }
  return true;
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

// Removes the first complete message from `received` and returns it.
std::optional<JobMessage> take_message(std::string& received) {
  Head head;
  if (received.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, received.data(), sizeof head);
  if (received.size() - sizeof head < head.length) return std::nullopt;
  JobMessage message;
  message.kind = static_cast<JobMessage::Kind>(head.kind);
  std::string payload = received.substr(sizeof head, head.length);
  received.erase(0, sizeof head + head.length);
  if (message.kind == JobMessage::Kind::failed) message.error = std::move(payload);
  if (message.kind == JobMessage::Kind::done) message.record = {RecordKind::blocks, head.span, std::move(payload)};
  if (message.kind == JobMessage::Kind::opened) {
    auto opened = from_cbor<Opened>(payload, "a job's backends");
    if (opened) message.infos = std::move(opened->infos);
  }
  return message;
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

Jobs::Jobs(int count, const OpenBackends& open, const BlockOptions& options, const std::function<void()>& close_files) {
  const auto number = static_cast<std::size_t>(count);
  shared_size_ = (number + 1) * sizeof(std::atomic<std::uint64_t>);
  void* memory = mmap(nullptr, shared_size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stop_ = static_cast<std::atomic<std::uint64_t>*>(memory);  // zeros are right for all of it
  cases_ = stop_ + 1;
  for (std::size_t i = 0; i < number; ++i) {
    Pipe commands;
    Pipe messages;
    if (!commands.open() || !messages.open()) {
      throw std::runtime_error("cannot make a pipe: " + std::string(std::strerror(errno)));
    }
    ForkedProcess process(ForkedProcess::Group::shared, [&] {
      close_files();
      for (Job& other : jobs_) {
        other.to.close();
        other.from.close();
      }
      commands.write.close();
      messages.read.close();
      run(i, commands.read.get(), messages.write.get(), open, options);
    });
    if (!process.is_running()) throw std::runtime_error("cannot start a job: " + std::string(std::strerror(errno)));
    jobs_.push_back({std::move(process), std::move(commands.write), std::move(messages.read), {}, {}});
  }
}

Jobs::~Jobs() {
  jobs_.clear();
  (void)munmap(stop_, shared_size_);
}

void Jobs::run(std::size_t number, int commands, int messages, const OpenBackends& open, BlockOptions options) {
  auto backends = open();
  if (!backends) {
    send_error(messages, backends.error().text());
    _exit(0);
  }
  Opened opened;
  for (const auto& backend : *backends) opened.infos.push_back(backend->info());
  send(messages, JobMessage::Kind::opened, {}, to_cbor(opened));
  std::atomic<std::uint64_t>& cases = cases_[number];
  options.stop = [this] { return stop_->load(std::memory_order_relaxed) != 0; };
  options.progress = [&cases] { cases.fetch_add(1, std::memory_order_relaxed); };
  for (BlockCommand command; receive_command(commands, command);) {
    cases = 0;
    auto done = run_block(command.block, command.cases, *backends, options);
    cases = 0;
    if (!done) {
      send_error(messages, done.error().text());
      break;
    }
    done->span.first = command.block;
    send_block(messages, done->span, encode_aggregate(done->aggregate));
  }
  backends->clear();
  _exit(0);
}

std::size_t Jobs::under_way() const {
  std::size_t sum = 0;
  for (const Job& job : jobs_) sum += job.blocks.size();
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

void Jobs::submit(std::size_t job, std::uint64_t block, std::uint64_t cases) {
  jobs_[job].blocks.push_back(block);
  send_command(jobs_[job].to.get(), {block, cases});
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
  if (count <= 0) return tl::unexpected(death_of(number));
  job.received.append(bytes, static_cast<std::size_t>(count));
  while (auto message = take_message(job.received)) {
    if (message->kind == JobMessage::Kind::done && !job.blocks.empty()) job.blocks.erase(job.blocks.begin());
    messages.push_back(std::move(*message));
  }
  return {};
}

Error Jobs::death_of(std::size_t number) {
  Job& job = jobs_[number];
  const int status = job.process.wait();
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                              : fmt::format("with exit status {}", WEXITSTATUS(status));
  std::string where = "while it opened its backends";
  if (!job.blocks.empty()) {
    const std::uint64_t first = job.blocks.front() * kBlockCases;
    where = fmt::format("in block {} (cases {} to {})", job.blocks.front(), first, first + kBlockCases - 1);
  }
  return {
      "--jobs",
      fmt::format("job {} ended {} {}: a backend that runs inside it may have crashed; with --isolation all that is "
                  "a finding. The journal holds the finished blocks: --resume continues from there",
                  number + 1, how, where),
      ""};
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
