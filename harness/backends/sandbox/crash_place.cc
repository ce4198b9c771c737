#include "harness/backends/sandbox/crash_place.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

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
class Writer {
 public:
  explicit Writer(std::span<char> text) : text_(text) {}
  ~Writer() { text_[size_] = '\0'; }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

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
  Writer writer(text);
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

}  // namespace qconform
