// A right ConvInteger of one row, which does to its process what the argument `way` names, on rows of exactly 13
// elements and on no others; ways that begin with "open-" while it is opened.
#include <fcntl.h>
#include <pthread.h>
#include <qconform/backend.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kHighestFile = 255;

std::string chosen;
bool throws_at_the_end = false;

// Thrown by its destructor, when the library is unloaded or its process exits.
struct AtTheEnd {
  ~AtTheEnd() noexcept(false) {
    if (throws_at_the_end) throw std::runtime_error("at the end");
  }
} at_the_end;

struct Unspeakable final : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return reinterpret_cast<const char*>(8); }
};

void throw_foreign() {
  auto* exception = static_cast<_Unwind_Exception*>(std::calloc(1, sizeof(_Unwind_Exception)));
  std::memcpy(&exception->exception_class, "OTHRLANG", sizeof exception->exception_class);
  (void)_Unwind_RaiseException(exception);
}

// Calls `change` with each stretch of memory that processes share and that this one may write.
template <typename Change>
void for_shared_memory(Change change) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> found;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0;
    unsigned long end = 0;
    char rights[8] = {};
    if (std::sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3) continue;
    if (rights[1] == 'w' && rights[3] == 's') found.emplace_back(begin, end);
  }
  (void)std::fclose(maps);
  for (const auto& [begin, end] : found) {
    // The bytes behind kMost are for large messages: to touch them all would take gigabytes.
    constexpr std::uintptr_t kMost = 4 << 20;
    change(reinterpret_cast<unsigned char*>(begin), end - begin < kMost ? end - begin : kMost);
  }
}

volatile int steps = 1;

int recurse(int depth) {
  volatile char room[4096];
  room[0] = static_cast<char>(depth);
  const int further = steps == 0 ? 0 : recurse(depth + steps);
  return room[0] + further;
}

void devour(std::size_t bytes) {
  auto* memory = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory != MAP_FAILED) std::memset(memory, 1, bytes);
}

template <typename Work>
void in_a_child(Work work) {
  if (fork() != 0) return;
  work();
  _exit(0);
}

[[noreturn]] void sleep_for_ever() {
  for (;;) (void)sleep(1000);
}

// As daemons do: another session, and a parent that is gone.
void leave_daemon() {
  in_a_child([] {
    (void)setsid();
    in_a_child([] { sleep_for_ever(); });
  });
}

void exhaust_files() {
  while (open("/dev/null", O_RDONLY) >= 0) continue;
}

#if defined(__x86_64__)
void change_x87() {
  std::uint16_t word = 0;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  word = static_cast<std::uint16_t>(word & ~0x0300U);  // single precision
  __asm__ volatile("fldcw %0" : : "m"(word));
}
#else
void change_x87() {}
#endif

struct Way {
  const char* name;
  void (*act)();
};

const Way kWays[] = {
    {"run-throws", [] { throw std::runtime_error("no kernel for 13"); }},
    {"run-throws-int", [] { throw 7; }},
    {"run-throws-text", [] { throw "a text"; }},
    {"run-throws-string", [] { throw std::string("a string"); }},
    {"run-throws-much", [] { throw std::runtime_error(std::string(1 << 20, 'x')); }},
    {"run-throws-unspeakable", [] { throw Unspeakable(); }},
    {"run-throws-foreign", throw_foreign},
    {"prepare-throws", [] { throw std::logic_error("cannot pack"); }},
    {"release-throws", [] { throw std::runtime_error("cannot free"); }},
    {"open-throws", [] { throw std::runtime_error("cannot open"); }},
    {"open-writes-a-file",
     [] {
       const char* path = std::getenv("QCONFORM_WRITES");
       if (path != nullptr) (void)close(open(path, O_CREAT | O_WRONLY, 0600));
     }},
    {"open-hangs", [] { sleep_for_ever(); }},
    {"open-crashes", [] { (void)raise(SIGSEGV); }},
    {"run-throws-in-a-thread", [] { std::thread([] { throw std::runtime_error("in a thread"); }).join(); }},
    {"run-exits-and-throws",
     [] {
       throws_at_the_end = true;
       std::exit(0);
     }},
    {"run-ends-its-thread", [] { pthread_exit(nullptr); }},
    {"run-writes-to-descriptors",
     [] {
       const std::string junk(4096, '\xA5');
       for (int file = 3; file <= kHighestFile; ++file) (void)!write(file, junk.data(), junk.size());
     }},
    {"run-closes-descriptors",
     [] {
       for (int file = 3; file <= kHighestFile; ++file) (void)close(file);
     }},
    {"run-truncates-descriptors",
     [] {
       for (int file = 0; file <= kHighestFile; ++file) (void)!ftruncate(file, 0);
     }},
    {"run-grows-descriptors",
     [] {
       for (int file = 0; file <= kHighestFile; ++file) (void)!ftruncate(file, off_t{1} << 40);
     }},
    {"run-reads-stdin",
     [] {
       char byte = 0;
       if (read(STDIN_FILENO, &byte, 1) != 0) std::abort();
     }},
    {"run-zeroes-shared-memory",
     [] { for_shared_memory([](unsigned char* begin, std::size_t size) { std::memset(begin, 0, size); }); }},
    {"run-scribbles-shared-memory",
     [] {
       for_shared_memory([](unsigned char* begin, std::size_t size) {
         std::uint32_t state = 1;
         for (std::size_t i = 0; i < size; ++i) {
           state = state * 1664525U + 1013904223U;
           begin[i] = static_cast<unsigned char>(state >> 24);
         }
       });
     }},
    {"run-leaves-a-child", [] { in_a_child([] { sleep_for_ever(); }); }},
    {"run-leaves-a-daemon", leave_daemon},
    {"run-leaves-a-daemon-and-crashes",
     [] {
       leave_daemon();
       (void)usleep(20000);
       (void)raise(SIGSEGV);
     }},
    {"run-leaves-many",
     [] {
       for (int i = 0; i < 50; ++i) leave_daemon();
     }},
    {"run-kills-its-parent",
     [] {
       (void)kill(getppid(), SIGKILL);
       sleep_for_ever();
     }},
    {"run-kills-its-group", [] { (void)kill(0, SIGKILL); }},
    {"run-kills-itself", [] { (void)kill(getpid(), SIGKILL); }},
    {"run-stops", [] { (void)raise(SIGSTOP); }},
    {"run-is-alarmed",
     [] {
       (void)ualarm(100000, 0);
       sleep_for_ever();
     }},
    {"run-recurses", [] { (void)recurse(0); }},
    {"run-aborts", [] { std::abort(); }},
    {"run-divides", [] { (void)raise(SIGFPE); }},
    {"run-exits-quickly", [] { _exit(0); }},
    {"run-becomes-another", [] { (void)execl("/bin/true", "true", nullptr); }},
    {"run-hides-its-crash",
     [] {
       (void)signal(SIGSEGV, SIG_DFL);
       volatile std::uintptr_t nowhere = 16;
       *reinterpret_cast<volatile int*>(nowhere) = 1;
     }},
    {"run-waits", [] { (void)pause(); }},
    {"run-devours",
     [] {
       devour(std::size_t{1} << 30);
       std::abort();
     }},
    {"run-devours-in-a-child",
     [] {
       for (int i = 0; i < 8; ++i) {  // each stays below what one process may have
         in_a_child([] {
           devour(std::size_t{64} << 20);
           sleep_for_ever();
         });
       }
       sleep_for_ever();
     }},
    {"run-devours-files-in-memory",
     [] {
       const int file = memfd_create("mine", 0);
       const std::vector<char> block(1 << 20, 1);
       for (int i = 0; i < 512; ++i) (void)!write(file, block.data(), block.size());
       sleep_for_ever();
     }},
    {"run-changes-x87", change_x87},
    // These harm nobody.
    {"run-prints-much",
     [] {
       const std::string line(1023, '*');
       for (int i = 0; i < 20000; ++i) std::printf("%s\n", line.c_str());
     }},
    {"run-changes-its-folder", [] { (void)!chdir("/"); }},
    {"run-changes-its-environment", [] { (void)clearenv(); }},
    {"run-changes-its-locale", [] { (void)std::setlocale(LC_ALL, "C.UTF-8"); }},
    {"run-changes-its-mask", [] { (void)umask(0777); }},
    {"run-exhausts-files", exhaust_files},
    {"run-lowers-its-limits",
     [] {
       const rlimit none{0, 0};
       (void)setrlimit(RLIMIT_NOFILE, &none);
       (void)setrlimit(RLIMIT_FSIZE, &none);
     }},
    {"run-ignores-signals",
     [] {
       for (int number = 1; number < 32; ++number) (void)signal(number, SIG_IGN);
     }},
    {"run-blocks-signals",
     [] {
       sigset_t all;
       (void)sigfillset(&all);
       (void)sigprocmask(SIG_BLOCK, &all, nullptr);
     }},
    {"run-outlives-its-parent", [] { (void)prctl(PR_SET_PDEATHSIG, 0); }},
};

void act(const char* stage) {
  if (chosen.rfind(stage, 0) != 0) return;
  for (const Way& way : kWays) {
    if (chosen == way.name) return way.act();
  }
}

struct Row {
  std::int64_t columns = 0;
  std::int64_t taps = 0;
  const std::int8_t* w = nullptr;
};

const qc_value* input(const qc_graph* graph, std::size_t position) {
  const qc_node* node = graph->nodes[0];
  return position < node->input_count && node->inputs[position] >= 0 ? graph->values[node->inputs[position]] : nullptr;
}

bool is_row(const qc_value* value, std::int32_t type) {
  return value != nullptr && value->type == type && value->rank == 3 && value->dims[0] == 1 && value->dims[1] == 1;
}

int open_with(const qc_setup* setup, void** /*state*/, qc_reason* reason) {
  for (std::size_t i = 0; i < setup->argument_count; ++i) chosen = setup->arguments[i]->value;
  for (const Way& way : kWays) {
    if (chosen != way.name) continue;
    act("open-");
    return QC_OK;
  }
  (void)std::snprintf(reason->text, reason->text_size, "no such way");
  return QC_REJECTED;
}

int supports(void* /*state*/, const qc_graph* graph, qc_reason* reason) {
  const qc_node* node = graph->nodes[0];
  if (std::strcmp(node->op_type, "ConvInteger") == 0 && node->input_count == 2 && node->attribute_count == 0 &&
      is_row(input(graph, 0), QC_UINT8) && is_row(input(graph, 1), QC_INT8)) {
    return QC_OK;
  }
  (void)std::snprintf(reason->text, reason->text_size, "only ConvInteger of a row");
  return QC_UNSUPPORTED;
}

int prepare(void* /*state*/, const qc_graph* graph, qc_prepared* prepared, qc_reason* /*reason*/) {
  auto* row = new Row{input(graph, 0)->dims[2], input(graph, 1)->dims[2],
                      static_cast<const std::int8_t*>(input(graph, 1)->data)};
  if (row->columns == 13) act("prepare-");
  prepared->node = row;
  return QC_OK;
}

void release(void* /*state*/, void* node) {
  const bool is_hostile = static_cast<Row*>(node)->columns == 13;
  delete static_cast<Row*>(node);
  if (is_hostile) act("release-");
}

int run(void* /*state*/, void* node, const qc_run* run, qc_reason* /*reason*/) {
  const Row& row = *static_cast<Row*>(node);
  const auto* x = static_cast<const std::uint8_t*>(run->inputs[0]->data);
  const std::int64_t dims[3] = {1, 1, row.columns - row.taps + 1};
  auto* y = static_cast<std::int32_t*>(run->allocate(run->context, 0, QC_INT32, 3, dims));
  if (y == nullptr) return QC_REJECTED;
  for (std::int64_t i = 0; i < dims[2]; ++i) {
    y[i] = 0;
    for (std::int64_t k = 0; k < row.taps; ++k) y[i] += x[i + k] * row.w[k];
  }
  if (row.columns == 13) act("run-");
  return QC_OK;
}

}  // namespace

const qc_backend* qconform_backend() {
  static qc_backend backend{};
  backend.size = sizeof backend;
  backend.name = "misbehaves";
  backend.version = "1";
  backend.open = open_with;
  backend.supports = supports;
  backend.prepare = prepare;
  backend.release = release;
  backend.run = run;
  return &backend;
}
