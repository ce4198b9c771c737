#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "harness/backends/sandbox/channel.h"
#include "harness/backends/sandbox/guarded_run.h"
#include "harness/backends/sandbox/sandbox.h"
#include "harness/base/error.h"
#include "harness/base/process.h"

namespace qconform {
namespace {

constexpr int kMostFrames = 48;

std::uintptr_t instruction_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
  return 0;
#endif
}

std::string_view file_name(const char* path) {
  const std::string_view text = path == nullptr ? "" : path;
  return text.substr(text.rfind('/') + 1);  // all of it where there is none
}

// Libraries that a backend calls: abort() lies there, and memcpy().
bool is_of_system(std::string_view file) {
  constexpr std::array kSystem{"libc.so",     "libc-",      "libstdc++.so", "libm.so",
                               "libgcc_s.so", "libpthread", "ld-linux",     "linux-vdso"};
  return std::any_of(kSystem.begin(), kSystem.end(), [&](const char* name) { return file.starts_with(name); });
}

// Text without allocating.
class FixedTextWriter {
 public:
  explicit FixedTextWriter(std::span<char> text) : text_(text) {}
  ~FixedTextWriter() { text_[size_] = '\0'; }
  FixedTextWriter(const FixedTextWriter&) = delete;
  FixedTextWriter& operator=(const FixedTextWriter&) = delete;

  void add(std::string_view part) {
    const std::size_t count = std::min(part.size(), text_.size() - 1 - size_);
    std::copy_n(part.begin(), count, text_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += count;
  }
  void add_hex(std::uintptr_t number) {
    add("0x");
    int shift = 60;
    while (shift > 0 && (number >> shift) == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) add(std::string_view("0123456789abcdef").substr(number >> shift & 15U, 1));
  }

 private:
  std::span<char> text_;
  std::size_t size_ = 0;
};

}  // namespace

void prepare_crash_places() {
  std::array<void*, 1> frames{};
  (void)backtrace(frames.data(), 1);
}

void write_crash_place(const void* context, std::span<char> text) {
  const std::uintptr_t instruction = instruction_of(context);
  std::array<void*, kMostFrames> frames{};
  const auto count = std::max(0, backtrace(frames.data(), kMostFrames));
  auto* const end = frames.begin() + count;
  // The handler's own frames come before.
  auto* frame = std::find(frames.begin(), end, reinterpret_cast<void*>(instruction));
  FixedTextWriter writer(text);
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(instruction), &info) == 0) return writer.add("generated code");
  for (; frame != end; ++frame) {
    Dl_info next{};
    if (dladdr(*frame, &next) == 0) break;
    info = next;
    if (!is_of_system(file_name(info.dli_fname))) break;
  }
  writer.add(file_name(info.dli_fname));
  if (info.dli_sname != nullptr) {
    writer.add(": ");
    return writer.add(info.dli_sname);
  }
  writer.add("+");
  const auto address = reinterpret_cast<std::uintptr_t>(frame == end ? reinterpret_cast<void*>(instruction) : *frame);
  writer.add_hex(address - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
}

std::string readable_crash_place(const std::string& place) {
  const std::size_t colon = place.find(": ");
  if (colon == std::string::npos) return place;
  int status = 0;
  const std::string symbol = place.substr(colon + 2);
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         std::free);
  if (demangled == nullptr) return place;
  std::string name = demangled.get();
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::size_t from = 0;
  while (name.compare(name.find('(', from), kAnonymous.size(), kAnonymous) == 0) {
    from = name.find('(', from) + kAnonymous.size();
  }
  return place.substr(0, colon + 2) + name.substr(0, name.find('(', from));
}

namespace {

// The receiver of an error adds the field's name.
constexpr const char* kBackendField = "--backend";

// The data that the signal handler needs. There is one worker per process.
struct State {
  CaseChannel* channel = nullptr;
  GuardedRun* guarded = nullptr;
  std::int64_t address_space = 0;  ///< limit in bytes, 0 for none
  std::int64_t spare = 0;          ///< with less than this left, an allocation has failed
};
State state;

// Bytes of address space in use, without allocating: signal handlers ask.
std::int64_t address_space_in_use() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::array<char, 32> text{};
  const ssize_t size = ::read(file, text.data(), text.size() - 1);
  (void)close(file);
  std::int64_t pages = 0;
  for (ssize_t i = 0; i < size && text[static_cast<std::size_t>(i)] >= '0'; ++i) {
    pages = pages * 10 + (text[static_cast<std::size_t>(i)] - '0');
  }
  return pages * sysconf(_SC_PAGESIZE);
}

void note_memory() {
  if (state.address_space > 0 && state.address_space - address_space_in_use() < state.spare) {
    state.channel->last_words().out_of_memory = true;
  }
}

bool is_write([[maybe_unused]] const void* context, bool otherwise) {
#if defined(__x86_64__)
  constexpr greg_t kWriteFault = 2;
  static_cast<void>(otherwise);
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWriteFault) != 0;
#else
  return otherwise;
#endif
}

void on_signal(int number, siginfo_t* info, void* context) {
  LastWords& words = state.channel->last_words();
  if (number == SIGSEGV || number == SIGBUS) {
    words.address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    state.guarded->locate(info->si_addr, words);
    words.wrote = is_write(context, words.slot <= LastWords::kScratch);
  }
  note_memory();
  words.from_outside = info->si_code <= 0 && info->si_pid != getpid();
  words.signal = number;
  write_crash_place(context, words.place);
  state.channel->say_end();
  _exit(128 + number);
}

void catch_signals() {
  prepare_crash_places();
  static std::array<std::byte, std::size_t{64} << 10> stack;  // a stack overflow leaves none to run on
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  (void)sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    (void)sigaction(number, &action, nullptr);
  }
  // A terminal or a job scheduler sends these to all processes: qconform gets them too, and ends its workers.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) (void)signal(number, SIG_IGN);
}

// Ends the process, telling which exception is to blame.
[[noreturn]] void end_by(std::string_view thrown) {
  auto& words = state.channel->last_words().threw;
  const std::size_t size = std::min(thrown.size(), words.size() - 1);
  std::copy_n(thrown.begin(), size, words.begin());
  words.at(size) = 0;
  state.channel->say_end();
  _exit(ForkedProcess::kThrew);
}

// An exception that nothing catches: of a thread, of a function that must not throw.
[[noreturn]] void on_terminate() {
  if (std::current_exception() == nullptr) std::abort();
  end_by(thrown_text());
}

void redirect_output(int log) {
  (void)dup2(log, STDOUT_FILENO);
  (void)dup2(log, STDERR_FILENO);
  (void)std::setvbuf(stdout, nullptr, _IONBF, 0);
}

void limit_resources(std::int64_t memory) {
  const rlimit none{0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  std::set_new_handler([]() {
    state.channel->last_words().out_of_memory = true;
    throw std::bad_alloc();
  });
  (void)std::atexit([]() {
    note_memory();
    state.channel->say_end();
  });
  if (!kCanLimitAddressSpace || memory <= 0) return;
  state.address_space = address_space_in_use() + memory;
  state.spare = memory / 8;
  const rlimit space{static_cast<rlim_t>(state.address_space), static_cast<rlim_t>(state.address_space)};
  (void)setrlimit(RLIMIT_AS, &space);
}

// Writes the answer and returns its bytes; writes nothing and returns 0 where it does not fit.
template <typename T>
std::size_t write_answer(const T& value, CaseChannel& channel, std::uint32_t number) {
  const std::size_t size = encoded_size(value);
  const auto memory = channel.answer_memory(number, size);
  if (!memory) return 0;
  encode(value, *memory);
  return size;
}

// Runs one request after the other, and reuses its memory.
class Desk {
 public:
  Desk(CaseChannel& channel, Backend& backend, GuardedRun& guarded, int log, std::int64_t memory_limit)
      : channel_(channel), backend_(backend), guarded_(guarded), log_(log), memory_limit_(memory_limit) {}

  // False where the process must end.
  bool serve(std::uint32_t number) {
    const CaseChannel::Request request = channel_.take(number);
    channel_.last_words().out_of_memory = false;
    channel_.last_words().of_neighbour = false;
    Outcome outcome = answer(request);
    outcome.log = take_log(log_);
    std::size_t size = write_answer(outcome, channel_, number);
    if (size == 0) {
      const Outcome refusal = outcome::Unsupported{"the output is larger than what a worker gives"};
      size = write_answer(refusal, channel_, number);
    }
    channel_.put(number, size);
    return leaves_process_sound(outcome);
  }

 private:
  Outcome answer(const CaseChannel::Request& request) {
    try {
      if (!decode_case(request.bytes, case_)) return outcome::Crashed{0, "the request was damaged"};
      if (request.mode == RunMode::repeatedly) return memory_growth(backend_, case_);
      return guarded_(backend_, case_, request.mode == RunMode::closely);
    } catch (const std::bad_alloc&) {
      return outcome::OutOfMemory{memory_limit_};
    } catch (const abi::__forced_unwind&) {
      end_by("it ended its thread (pthread_exit)");
    } catch (...) {
      return outcome::Threw{thrown_text()};
    }
  }

  CaseChannel& channel_;
  Backend& backend_;
  GuardedRun& guarded_;
  int log_;
  std::int64_t memory_limit_;
  Case case_;
};

}  // namespace

bool leaves_process_sound(const Outcome& outcome) {
  return !std::holds_alternative<outcome::WroteOutOfBounds>(outcome) &&
         !std::holds_alternative<outcome::ReadOutOfBounds>(outcome) &&
         !std::holds_alternative<outcome::DependsOnEarlierRuns>(outcome) &&
         !std::holds_alternative<outcome::Crashed>(outcome) && !std::holds_alternative<outcome::Threw>(outcome) &&
         !std::holds_alternative<outcome::OutOfMemory>(outcome);
}

std::string take_log(int log) {
  const off_t size = lseek(log, 0, SEEK_END);
  if (size <= 0) return {};
  const off_t begin = std::max<off_t>(0, size - kLogShown);
  std::string text(static_cast<std::size_t>(size - begin), '\0');
  const ssize_t read = pread(log, text.data(), text.size(), begin);
  text.resize(read < 0 ? 0 : static_cast<std::size_t>(read));
  (void)ftruncate(log, 0);
  return text;
}

void run_worker(const OpenBackend& open, CaseChannel& channel, int log, std::int64_t memory_limit) {
  GuardedRun guarded;
  state = {&channel, &guarded, 0, 0};
  channel.make_requests_read_only();
  redirect_output(log);
  catch_signals();
  std::set_terminate(on_terminate);
  Hello hello;
  auto backend = opened_without_throwing(kBackendField, open);
  if (backend) {
    hello.info = (*backend)->info();
  } else {
    hello.error = backend.error().field == kBackendField ? backend.error().message : backend.error().text();
  }
  channel.put_hello(write_answer(hello, channel, 0));
  if (!backend) _exit(0);
  (void)take_log(log);
  limit_resources(memory_limit);
  catch_signals();  // a library may have put its own handlers there
  guarded.begins = [&](bool of_neighbour) {
    channel.last_words().of_neighbour = of_neighbour;
    channel.begin_again();
  };
  Desk desk(channel, **backend, guarded, log, memory_limit);
  for (std::uint32_t number = 0; desk.serve(number); ++number) {
  }
  _exit(0);
}

}  // namespace qconform
