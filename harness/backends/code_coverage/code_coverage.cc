#include "harness/backends/code_coverage/code_coverage.h"

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <utility>

namespace qconform {

// All zero at first: memory that nobody has touched costs nothing.
struct CodeCoverage::Shared {
  static constexpr std::size_t kLongestPath = 1024;

  std::uint32_t guards;   ///< how many there are, over all modules
  std::uint32_t calls;    ///< how many places of calls are known
  std::uint32_t modules;  ///< how many are known
  std::array<std::array<char, kLongestPath>, kMostModules> module_files;
  std::array<std::uint64_t, kMostGuards> guard_places;  ///< key_of(), 0 where it is not known
  std::array<std::uint64_t, kMostCalls> call_places;    ///< key_of(), 0 where the slot is free: a hash table
  std::array<std::uint8_t, kMostGuards> guard_marks;
  std::array<std::uint8_t, kMostCalls> call_marks;
};

namespace {

constexpr unsigned kOffsetBits = 48;
constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kOffsetBits) - 1;

CodePlace decoded(std::uint64_t key) {
  if (key == 0) return {0, CodePlace::kNowhere};
  return {static_cast<std::uint32_t>(key >> kOffsetBits) - 1, key & kOffsetMask};
}

template <typename T>
T relaxed_load(const T& value) {
  return __atomic_load_n(&value, __ATOMIC_RELAXED);
}

template <typename T>
void relaxed_store(T& value, T changed) {
  __atomic_store_n(&value, changed, __ATOMIC_RELAXED);
}

// A file that this process has loaded: its segments lie between these addresses.
struct LoadedModule {
  std::uintptr_t bias = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::uint32_t number = 0;
  std::string file = {};

  [[nodiscard]] bool has(std::uintptr_t address) const { return begin <= address && address < end; }
};

// Never 0.
std::uint64_t key_of(const LoadedModule& module, std::uintptr_t address) {
  return (std::uint64_t{module.number} + 1) << kOffsetBits | ((address - module.bias) & kOffsetMask);
}

// In `data`, a LoadedModule whose `begin` is an address: the module that has this address.
int take_module(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& wanted = *static_cast<LoadedModule*>(data);
  LoadedModule module{info->dlpi_addr, UINTPTR_MAX, 0, 0, info->dlpi_name};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    module.begin = std::min<std::uintptr_t>(module.begin, module.bias + segment.p_vaddr);
    module.end = std::max<std::uintptr_t>(module.end, module.bias + segment.p_vaddr + segment.p_memsz);
  }
  if (!module.has(wanted.begin)) return 0;
  wanted = std::move(module);
  return 1;
}

}  // namespace

// The worker's side: what the functions that compilers call do. One in a process.
class CodeRecorder {
 public:
  using Shared = CodeCoverage::Shared;

  void begin(Shared& shared) { relaxed_store(shared_, &shared); }

  void take_guards(std::uint32_t* begin, std::uint32_t* end) {
    Shared* shared = relaxed_load(shared_);
    guards_of_table_ = {};
    // Each file of a module announces the guards of all its files.
    if (shared == nullptr || begin == end || *begin != 0) return;
    guards_of_table_ = {begin, end};
    for (std::uint32_t* guard = begin; guard != end; ++guard) {
      if (guards_ == CodeCoverage::kMostGuards) return;
      *guard = ++guards_;
    }
    relaxed_store(shared->guards, guards_);
  }

  // Entries of two words: an address, and whether a function begins there.
  void take_table(const std::uintptr_t* begin, const std::uintptr_t* end) {
    Shared* shared = relaxed_load(shared_);
    const std::span<std::uint32_t> guards = std::exchange(guards_of_table_, {});
    if (shared == nullptr || guards.size() != static_cast<std::size_t>(end - begin) / 2) return;
    const LoadedModule* own = module_at(*shared, reinterpret_cast<std::uintptr_t>(guards.data()));
    if (own == nullptr) return;
    for (std::size_t i = 0; i < guards.size() && guards[i] != 0; ++i) {
      // An inline function may be another module's: then that one is called, and this edge runs never.
      const std::uintptr_t address = begin[2 * i];
      if (own->has(address)) relaxed_store(shared->guard_places[guards[i] - 1], key_of(*own, address));
    }
  }

  void mark_guard(std::uint32_t guard) const {
    Shared* shared = relaxed_load(shared_);
    if (shared != nullptr && guard != 0) relaxed_store(shared->guard_marks[guard - 1], std::uint8_t{1});
  }

  void mark_call(std::uintptr_t from) {
    Shared* shared = relaxed_load(shared_);
    if (shared == nullptr) return;
    const LoadedModule* module = module_at(*shared, from);
    if (module == nullptr) return;
    const std::uint64_t key = key_of(*module, from);
    std::size_t slot = key * 0x9E3779B97F4A7C15U >> 40U;
    for (std::size_t tried = 0; tried < CodeCoverage::kMostCalls / 2; ++tried, ++slot) {
      slot %= CodeCoverage::kMostCalls;
      std::uint64_t there = 0;
      std::uint64_t& place = shared->call_places[slot];
      if (relaxed_load(place) != key &&
          !__atomic_compare_exchange_n(&place, &there, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
          there != key) {
        continue;
      }
      if (there == 0 && relaxed_load(shared->calls) == 0) relaxed_store(shared->calls, std::uint32_t{1});
      return relaxed_store(shared->call_marks[slot], std::uint8_t{1});
    }
  }

 private:
  // Null where there are too many modules.
  const LoadedModule* module_at(Shared& shared, std::uintptr_t address) {
    const std::size_t known = __atomic_load_n(&modules_known_, __ATOMIC_ACQUIRE);
    for (std::size_t i = 0; i < known; ++i) {
      if (modules_[i].has(address)) return &modules_[i];
    }
    return add_module(shared, address);
  }

  const LoadedModule* add_module(Shared& shared, std::uintptr_t address) {
    const std::lock_guard lock(adding_);
    LoadedModule found{.begin = address};
    if (dl_iterate_phdr(take_module, &found) == 0 || modules_known_ == CodeCoverage::kMostModules) return nullptr;
    found.number = number_of(shared, found.file);
    if (found.number == CodeCoverage::kMostModules) return nullptr;
    modules_[modules_known_] = std::move(found);
    const LoadedModule* added = &modules_[modules_known_];
    __atomic_store_n(&modules_known_, modules_known_ + 1, __ATOMIC_RELEASE);
    return added;
  }

  // Returns the number of a module's file, which is the same in each worker.
  static std::uint32_t number_of(Shared& shared, const std::string& file) {
    std::uint32_t number = 0;
    while (number < shared.modules && file != shared.module_files[number].data()) ++number;
    if (number == CodeCoverage::kMostModules || file.size() >= Shared::kLongestPath) return CodeCoverage::kMostModules;
    if (number == shared.modules) {
      std::memcpy(shared.module_files[number].data(), file.c_str(), file.size() + 1);
      relaxed_store(shared.modules, number + 1);
    }
    return number;
  }

  Shared* shared_ = nullptr;
  std::uint32_t guards_ = 0;
  std::span<std::uint32_t> guards_of_table_;
  std::mutex adding_;
  std::size_t modules_known_ = 0;
  std::array<LoadedModule, CodeCoverage::kMostModules> modules_;
};

namespace {

CodeRecorder& recorder() {
  static CodeRecorder the_one;
  return the_one;
}

}  // namespace

CodeCoverage::CodeCoverage() {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_ = new (memory) Shared;
}

CodeCoverage::~CodeCoverage() {
  (void)munmap(shared_, sizeof(Shared));
}

void CodeCoverage::record_here() {
  recorder().begin(*shared_);
}

CodeCoverage::Form CodeCoverage::form() const {
  if (relaxed_load(shared_->guards) > 0) return Form::guards;
  return relaxed_load(shared_->calls) > 0 ? Form::calls : Form::none;
}

void CodeCoverage::settle() {
  loading_ = marked();
  forget();
}

void CodeCoverage::forget() {
  std::memset(shared_->guard_marks.data(), 0, relaxed_load(shared_->guards));
  if (form() == Form::calls) shared_->call_marks.fill(0);
}

std::vector<std::uint32_t> CodeCoverage::marked() const {
  const std::span<const std::uint8_t> marks = form() == Form::guards
                                                  ? std::span(shared_->guard_marks).first(relaxed_load(shared_->guards))
                                                  : std::span(shared_->call_marks);
  std::vector<std::uint32_t> edges;
  const void* next = nullptr;
  for (std::size_t i = 0; i < marks.size();
       i = static_cast<std::size_t>(static_cast<const std::uint8_t*>(next) - marks.data()) + 1) {
    next = std::memchr(&marks[i], 1, marks.size() - i);
    if (next == nullptr) break;
    edges.push_back(static_cast<std::uint32_t>(static_cast<const std::uint8_t*>(next) - marks.data()));
  }
  return edges;
}

std::vector<std::uint32_t> CodeCoverage::executed() const {
  std::vector<std::uint32_t> edges = marked();
  std::erase_if(edges, [&](std::uint32_t edge) { return std::binary_search(loading_.begin(), loading_.end(), edge); });
  return edges;
}

std::optional<std::uint32_t> CodeCoverage::edges() const {
  if (form() != Form::guards) return std::nullopt;
  return relaxed_load(shared_->guards);
}

CodePlace CodeCoverage::place(std::uint32_t edge) const {
  return decoded(relaxed_load(form() == Form::guards ? shared_->guard_places.at(edge) : shared_->call_places.at(edge)));
}

std::vector<std::string> CodeCoverage::modules() const {
  std::vector<std::string> files;
  for (std::uint32_t i = 0; i < relaxed_load(shared_->modules); ++i)
    files.emplace_back(shared_->module_files.at(i).data());
  return files;
}

}  // namespace qconform

// A build with sanitizers has these in their run-time library.
#ifdef QCONFORM_RECORDS_CODE

bool qconform::can_record_code() {
  return true;
}

// NOLINTBEGIN(bugprone-reserved-identifier): compilers choose these names. The linker leaves them out unless they are
// used.
extern "C" {
__attribute__((used, visibility("default"))) void __sanitizer_cov_trace_pc_guard_init(std::uint32_t* begin,
                                                                                      std::uint32_t* end) {
  qconform::recorder().take_guards(begin, end);
}
__attribute__((used, visibility("default"))) void __sanitizer_cov_pcs_init(const std::uintptr_t* begin,
                                                                           const std::uintptr_t* end) {
  qconform::recorder().take_table(begin, end);
}
__attribute__((used, visibility("default"))) void __sanitizer_cov_trace_pc_guard(const std::uint32_t* guard) {
  qconform::recorder().mark_guard(*guard);
}
__attribute__((used, visibility("default"))) void __sanitizer_cov_trace_pc() {
  qconform::recorder().mark_call(reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}
}
// NOLINTEND(bugprone-reserved-identifier)

#else

bool qconform::can_record_code() {
  return false;
}

#endif
