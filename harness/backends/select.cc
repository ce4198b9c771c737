#include "harness/backends/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "harness/backends/kinds.h"
#include "harness/backends/library.h"
#include "harness/backends/worker_command.h"
#include "harness/base/error.h"
#include "harness/base/text.h"
#include "harness/core/version.h"
#include "harness/forms/defects/defect_files.h"
#include "reference/kernels/kernels.h"

namespace qconform {
namespace {

ModelRuntime none() {
  return {"no runtime", "this program computes no whole models", nullptr};
}
ModelRuntime (*offered)() = none;

}  // namespace

void offer_model_runtime(ModelRuntime (*find)()) {
  offered = find;
}

const ModelRuntime& offered_model_runtime() {
  static const ModelRuntime runtime = offered();
  return runtime;
}

}  // namespace qconform

namespace qconform::backend {
namespace {
std::span<const Library> offered;
}  // namespace

void offer_libraries(std::span<const Library> libraries) {
  offered = libraries;
}

std::span<const Library> offered_libraries() {
  return offered;
}

namespace {

using SelectedKind = Specification::Kind;

std::vector<std::string> kernels_where(bool available) {
  std::vector<std::string> names;
  for (const reference::KernelSet& set : reference::kernel_sets()) {
    if (set.available() == available) names.emplace_back(set.name);
  }
  return names;
}

// Null for another backend.
const reference::KernelSet* kernel_set_of(const Specification& what) {
  const auto sets = reference::kernel_sets();
  const auto found =
      std::find_if(sets.begin(), sets.end(), [&](const reference::KernelSet& set) { return what.name == set.name; });
  return what.kind == SelectedKind::named && found != sets.end() ? &*found : nullptr;
}

// Those profiles name an arithmetic; the others admit sets.
bool names_an_arithmetic(const ProfileInfo& info) {
  const auto tier = tier_of(info.profile);
  return !tier || *tier == reference::Tier::exact;
}

Result<RoundingProfile> chosen_arithmetic(const Specification& what, RoundingProfile otherwise) {
  QCONFORM_TRY(check_settings(what, accepted_arithmetics()));
  const auto profile = profile_named(what.word);
  return profile ? arithmetic_of(*profile) : otherwise;
}

// Whether another release of the library is meant than the one in use.
bool is_another_release(const Library& library, const Specification& what) {
  const LibraryState state = library.state();
  return !what.version.empty() && (!state.absent.empty() || !check_version(what, state.version));
}

Result<std::unique_ptr<Backend>> open_library(const Library& library, const Specification& what) {
  const LibraryState state = library.state();
  const auto has_version = check_version(what, state.version);
  if (library.open_release != nullptr && is_another_release(library, what)) {
    QCONFORM_TRY(check_settings(what, library.accepted));
    return library.open_release(what);
  }
  if (!state.absent.empty())
    return fail("--backend", fmt::format("{} is not available: {}", library.name, state.absent));
  QCONFORM_TRY(has_version);
  QCONFORM_TRY(check_settings(what, library.accepted));
  return library.open(what);
}

// Null where there is none.
const Library* library_of(const Specification& what) {
  if (what.kind != SelectedKind::named) return nullptr;
  for (const Library& library : offered_libraries()) {
    if (library.name == what.name) return &library;
  }
  return nullptr;
}

// The versions that the name asks for: each that is here of a range, its own otherwise.
Result<std::vector<std::string>> versions_of(const Specification& what) {
  const std::size_t dots = what.version.find("..");
  if (dots == std::string::npos || names_a_file(what)) return std::vector<std::string>{what.version};
  const std::string first = what.version.substr(0, dots);
  const std::string last = what.version.substr(dots + 2);
  const Library* library = library_of(what);
  if (library == nullptr || library->releases == nullptr) {
    return fail("--backend",
                fmt::format("\"{}\": {} has one version only, and no range of them", text_of(what), what.name));
  }
  std::vector<std::string> versions = library->releases();
  const std::string here = library->state().version;
  if (!here.empty() && std::find(versions.begin(), versions.end(), here) == versions.end()) versions.push_back(here);
  const auto is_before = [](const std::string& a, const std::string& b) { return is_older(a, b); };
  std::sort(versions.begin(), versions.end(), is_before);
  const auto all = versions;
  std::erase_if(versions, [&](const std::string& version) {
    return is_older(version, first) || (is_older(last, version) && !begins_with(version, last));
  });
  if (!versions.empty()) return versions;
  return fail("--backend", fmt::format("\"{}\": no release of {} is here in that range; these are: {}", text_of(what),
                                       what.name, fmt::join(all, ", ")));
}

Result<std::unique_ptr<Backend>> open_kernels(const reference::KernelSet& set, const Specification& what,
                                              RoundingProfile arithmetic) {
  QCONFORM_TRY(check_version(what, kVersion));
  QCONFORM_ASSIGN(arithmetic, chosen_arithmetic(what, arithmetic));
  if (!set.available()) {
    return fail("--backend", fmt::format("{} does not run on this CPU: {}", set.name, set.description));
  }
  return in_tree(set, arithmetic, text_of(what));
}

Error no_such_backend(const Specification& what) {
  std::vector<std::string_view> known;
  for (const reference::KernelSet& set : reference::kernel_sets()) known.emplace_back(set.name);
  for (const Library& library : offered_libraries()) known.push_back(library.name);
  known.insert(known.end(), {kInterpreter, kFused, "plugin", "process", "defect"});
  return {"--backend",
          fmt::format("no backend \"{}\"{} This build and CPU have {}, interpreter, fused, plugin:PATH.so, "
                      "process:COMMAND and defect:ID",
                      what.name, ending_with_guess(what.name, known), fmt::join(default_backends(), ", ")),
          {}};
}

Result<std::unique_ptr<Backend>> open_here(const Specification& what, RoundingProfile arithmetic) {
  if (what.kind == SelectedKind::defect) {
    QCONFORM_ASSIGN(arithmetic, chosen_arithmetic(what, arithmetic));
    QCONFORM_ASSIGN(auto model, diagnose::model_named(what.name, arithmetic, "--backend"));
    return defect_model(std::move(model), text_of(what));
  }
  if (what.kind == SelectedKind::plugin) return load_plugin(what);
  if (what.name == kInterpreter) return interpreter(what);
  if (what.name == kFused) return fused(what);
  if (const Library* library = library_of(what)) return open_library(*library, what);
  if (const auto* set = kernel_set_of(what)) return open_kernels(*set, what, arithmetic);
  return tl::unexpected(no_such_backend(what));
}

Error one_thread_only(const Specification& what) {
  return {"--threads-check", fmt::format("{} runs one case from one thread at a time", text_of(what)), {}};
}

// Runs in a process of its own under every policy.
Result<std::unique_ptr<Backend>> start_library(const Library& library, const Specification& what,
                                               const SandboxPolicy& sandbox) {
  if (sandbox.threads != 0) return tl::unexpected(one_thread_only(what));
  if (!what.cpu.empty())
    return fail("--backend", text_of(what) + " runs on this processor only: [CPU] is not possible");
  QCONFORM_TRY(check_settings(what, library.accepted));
  return library.start(what, sandbox.limits);
}

Result<std::unique_ptr<Backend>> open_checked(const Specification& what, RoundingProfile arithmetic, int threads) {
  auto backend = open_here(what, arithmetic);
  if (!backend || threads == 0) return backend;
  if (!(*backend)->info().concurrent) return tl::unexpected(one_thread_only(what));
  return threads_checked(std::move(*backend), threads);
}

std::string_view profile_name(RoundingProfile arithmetic) {
  const auto all = profiles();
  const auto pins = [&](const ProfileInfo& info) {
    return names_an_arithmetic(info) && arithmetic_of(info.profile) == arithmetic;
  };
  return std::find_if(all.begin(), all.end(), pins)->name;
}

// Lists the files that opening the backend here maps and this program does not: the emulated machine needs those
// libraries too.
std::vector<std::filesystem::path> files_of(const Specification& what, RoundingProfile arithmetic) {
  const bool is_third_party = what.kind == SelectedKind::plugin || library_of(what) != nullptr;
  if (!is_third_party) return {};
  return files_mapped_by([&] { (void)open_here(what, arithmetic); });
}

// The program of a release that this one cannot load; nullopt for what qconform serves itself.
std::optional<Result<std::vector<std::string>>> program_of_release(const Specification& what) {
  const Library* library = library_of(what);
  if (library == nullptr || library->release_program == nullptr || !is_another_release(*library, what)) return {};
  return library->release_program(what);
}

// Ends the command of a program that serves the backend on the processor where it runs. `threads`: as in SandboxPolicy.
void add_worker_words(std::vector<std::string>& command, Specification what, RoundingProfile arithmetic, int threads) {
  what.cpu.clear();
  command.insert(command.end(), {"worker", "--backend", text_of(what), "--profile",
                                 std::string(profile_name(arithmetic)), "--threads", std::to_string(threads)});
}

Result<std::unique_ptr<Backend>> open_in_bochs(Specification what, RoundingProfile arithmetic,
                                               const SandboxPolicy& sandbox) {
  if (program_of_release(what)) {
    return fail("--cpu", fmt::format("{}: a release with a program of its own runs on this processor and on those of "
                                     "qemu, not in Bochs",
                                     text_of(what)));
  }
  what.cpu = whole_bochs_name(what.cpu);
  Specification plain = what;
  plain.cpu.clear();
  SandboxLimits limits = sandbox.limits;
  limits.timeout *= kEmulationSlowdown;
  limits.memory = std::min(limits.memory, kBochsMemory);
  QCONFORM_ASSIGN(auto command, bochs_command(what.cpu, files_of(plain, arithmetic)));
  const bool is_full = limits.guard == SandboxLimits::Guard::full;
  add_worker_words(command.program, what, arithmetic, sandbox.threads);
  command.program.insert(
      command.program.end(),
      {"--line", std::string(kBochsLine), "--timeout", fmt::format("{}", limits.timeout), "--memory-limit",
       std::to_string(limits.memory >> 20), "--guard", is_full ? "full" : "sampled"});
  return open_guest_in_sandbox(std::move(command), text_of(what), limits);
}

// The command of the program that serves the backend outside of this process; empty where none has to.
Result<std::vector<std::string>> program_for(const Specification& what, const std::string& arm64_program) {
  const auto of_release = program_of_release(what);
  if (!of_release) {
    if (what.cpu.empty()) return std::vector<std::string>{};
    return emulated_program(what.cpu, arm64_program);
  }
  if (!*of_release || what.cpu.empty()) return *of_release;
  return emulated_command(what.cpu, **of_release);
}

Result<std::unique_ptr<Backend>> open_program(std::vector<std::string> command, const Specification& what,
                                              RoundingProfile arithmetic, const SandboxPolicy& sandbox) {
  add_worker_words(command, what, arithmetic, sandbox.threads);
  if (what.kind == SelectedKind::defect) {
    for (const std::string& file : diagnose::defect_files()) command.insert(command.end(), {"--defects", file});
  }
  SandboxLimits limits = sandbox.limits;
  if (what.cpu.empty()) {
    command.insert(command.end(), {"--memory", std::to_string(limits.memory)});
  } else {
    limits.timeout *= kEmulationSlowdown;
    limits.slot_bytes = CaseChannel::kEmulatedSlotBytes;
  }
  if (sandbox.shows_graphs) command.emplace_back("--shows-graphs");
  auto backend = open_program_in_sandbox(std::move(command), text_of(what), limits);
  if (!backend || !sandbox.shows_graphs) return backend;
  return rewriting_asked(std::move(*backend));
}

Result<std::unique_ptr<Backend>> open_anywhere(const Specification& what, RoundingProfile arithmetic,
                                               const SandboxPolicy& sandbox) {
  using Which = SandboxPolicy::Which;
  // Runs in a process of its own under every policy.
  if (what.kind == SelectedKind::process) {
    if (sandbox.threads != 0) return tl::unexpected(one_thread_only(what));
    return open_process(what.name, sandbox.limits, text_of(what));
  }
  if (const Library* library = library_of(what); library != nullptr && library->start != nullptr) {
    return start_library(*library, what, sandbox);
  }
  if (is_bochs_model(what.cpu)) return open_in_bochs(what, arithmetic, sandbox);
  QCONFORM_ASSIGN(auto program, program_for(what, sandbox.arm64_program));
  if (!program.empty()) return open_program(std::move(program), what, arithmetic, sandbox);
  const bool is_third_party = what.kind == SelectedKind::plugin || library_of(what) != nullptr;
  if (sandbox.confined && is_third_party) {
    QCONFORM_ASSIGN(auto words, confining_words());
    QCONFORM_ASSIGN(const auto own, own_program());
    words.push_back(own.string());
    return open_program(std::move(words), what, arithmetic, sandbox);
  }
  const bool in_worker = sandbox.which == Which::all || (sandbox.which == Which::third_party && is_third_party);
  const auto open = [what, arithmetic, threads = sandbox.threads]() { return open_checked(what, arithmetic, threads); };
  if (!in_worker) return opened_without_throwing("--backend", open);
  if (sandbox.shows_graphs) {
    const auto open_told = [open]() -> Result<std::unique_ptr<Backend>> {
      QCONFORM_ASSIGN(auto inner, open());
      return rewriting_told(std::move(inner));
    };
    QCONFORM_ASSIGN(auto worker, open_in_sandbox(open_told, text_of(what), sandbox.limits));
    return rewriting_asked(std::move(worker));
  }
  return open_in_sandbox(open, text_of(what), sandbox.limits, what.kind == SelectedKind::plugin);
}

Result<void> put_on_cpu(Specification& what, const std::string& cpu) {
  if (cpu == "native" || cpu == what.cpu) return {};
  const Library* library = library_of(what);
  if (what.kind == SelectedKind::process || (library != nullptr && library->start != nullptr)) {
    return fail("--cpu", fmt::format("{}: a command chooses its processor itself", text_of(what)));
  }
  if (!what.cpu.empty())
    return fail("--cpu", fmt::format("{} names a processor already: give one of --cpu and [CPU]", text_of(what)));
  what.cpu = is_bochs_model(cpu) ? whole_bochs_name(cpu) : cpu;
  return {};
}

}  // namespace

Result<std::vector<std::string>> program_of(std::string_view name, RoundingProfile arithmetic) {
  QCONFORM_ASSIGN(const auto what, parse_specification(name));
  auto program = what.cpu.empty() ? program_of_release(what) : std::nullopt;
  if (program && *program) add_worker_words(**program, what, arithmetic, SandboxPolicy{}.threads);
  return program.value_or(std::vector<std::string>{});
}

Accepted accepted_arithmetics() {
  Accepted accepted;
  for (const ProfileInfo& info : profiles()) {
    if (names_an_arithmetic(info)) accepted.words.push_back(info.name);
  }
  return accepted;
}

Result<std::vector<std::string>> whole_names(const std::vector<std::string>& backends,
                                             const std::vector<std::string>& cpus, bool valid_only) {
  std::vector<Specification> all;
  for (const std::string& name : backends) {
    QCONFORM_ASSIGN(const auto what, parse_specification(name));
    QCONFORM_ASSIGN(const auto versions, versions_of(what));
    for (const std::string& version : versions) {
      for (const std::string& cpu : cpus.empty() ? std::vector<std::string>{"native"} : cpus) {
        Specification whole = what;
        whole.version = version;
        QCONFORM_TRY(put_on_cpu(whole, cpu));
        whole.valid_only = whole.valid_only || valid_only;
        all.push_back(std::move(whole));
      }
    }
  }
  number_names(all);
  std::vector<std::string> names;
  for (const Specification& what : all) names.push_back(text_of(what));
  return names;
}

bool is_kernel_set(std::string_view name) {
  const auto what = parse_specification(name);
  return what && kernel_set_of(*what) != nullptr;
}

std::vector<std::string> available_kernels() {
  return kernels_where(true);
}
std::vector<std::string> default_backends() {
  std::vector<std::string> names = kernels_where(true);
  for (const Library& library : offered_libraries()) {
    if (library.start == nullptr && library.state().absent.empty()) names.emplace_back(library.name);
  }
  return names;
}
std::vector<std::string> unavailable_kernels() {
  return kernels_where(false);
}

Result<std::unique_ptr<Backend>> select(const Specification& what, RoundingProfile arithmetic,
                                        const SandboxPolicy& sandbox) {
  if (what.valid_only) {
    Specification plain = what;
    plain.valid_only = false;
    QCONFORM_ASSIGN(auto inner, select(plain, arithmetic, sandbox));
    return named(valid_only(std::move(inner), text_of(what)), what);
  }
  QCONFORM_ASSIGN(auto opened, open_anywhere(what, arithmetic, sandbox));
  // An emulated machine would take minutes, and the adapter is the one of this processor.
  const bool is_checked = library_of(what) != nullptr && opened->worker() != nullptr && !is_bochs_model(what.cpu);
  if (is_checked && !sandbox.shows_graphs && !sandbox.trusts_adapters) opened = self_checked(std::move(opened));
  return named(std::move(opened), what);
}

namespace {

// The word or key that reaches another interface of the library; empty of its usual one.
std::string_view interface_of(const Library& library, const Specification& what) {
  for (const std::string_view interface : library.interfaces) {
    const auto is_it = [&](const Setting& setting) { return setting.key == interface; };
    if (what.word == interface || std::any_of(what.settings.begin(), what.settings.end(), is_it)) return interface;
  }
  return {};
}

bool are_siblings(const Specification& one, const Specification& other) {
  const Library* library = library_of(one);
  return library != nullptr && library == library_of(other) && one.cpu == other.cpu && text_of(one) != text_of(other) &&
         interface_of(*library, one) == interface_of(*library, other);
}

// The plain setting of the same release, if it is another one.
std::optional<Specification> plain_of(const Specification& what) {
  const Library* library = library_of(what);
  if (library == nullptr || library->levels.empty() || what.word.empty() || what.word == library->levels.front()) {
    return std::nullopt;
  }
  Specification plain = what;
  plain.word = library->levels.front();
  std::erase_if(plain.settings, [](const Setting& setting) { return setting.key == "form"; });
  return plain;
}

// Names the backends that are asked where `what` refuses: its siblings among those named, and the plain setting.
std::vector<std::string> siblings_among(const Specification& what, const std::vector<Specification>& named) {
  std::vector<std::string> names;
  for (const Specification& other : named) {
    if (are_siblings(what, other)) names.push_back(text_of(other));
  }
  if (const auto plain = plain_of(what)) {
    if (std::find(names.begin(), names.end(), text_of(*plain)) == names.end()) names.push_back(text_of(*plain));
  }
  return names;
}

// The switches that a plugin states of itself.
std::vector<Switch> stated_switches(const BackendInfo& info) {
  std::vector<Switch> switches;
  for (const std::string_view one : info.capabilities) {
    if (!one.starts_with(kSwitchCapability)) continue;
    const std::string_view setting = one.substr(kSwitchCapability.size());
    const std::size_t equals = std::min(setting.find('='), setting.size() - 1);
    switches.push_back({.key = setting.substr(0, equals), .value = setting.substr(equals + 1), .is_part = true});
  }
  return switches;
}

Result<std::unique_ptr<Backend>> select_beside(const Specification& what, const std::vector<Specification>& named,
                                               RoundingProfile arithmetic, const SandboxPolicy& sandbox) {
  QCONFORM_ASSIGN(auto backend, select(what, arithmetic, sandbox));
  const auto open = [arithmetic](const std::string& name, const SandboxPolicy& policy) {
    const auto other = parse_specification(name);
    return other ? select(*other, arithmetic, policy) : tl::unexpected(other.error());
  };
  const bool is_plugin = what.kind == SelectedKind::plugin;
  const std::span<const Switch> known = switches_of(text_of(what));
  OtherSettings others{siblings_among(what, named), nullptr, {known.begin(), known.end()}, nullptr};
  if (is_plugin) others.switches = stated_switches(backend->info());
  others.open_sibling = [open, sandbox](const std::string& name) { return open(name, sandbox); };
  // Programs and other processors have no switches, and show no graphs; plugins show none.
  const bool has_more = is_plugin ? !others.switches.empty() : what.kind != SelectedKind::process;
  if (has_more && what.cpu.empty()) {
    others.open_without = [open, sandbox, is_plugin](const std::string& name,
                                                     bool shows_graphs) -> OtherSettings::Opened {
      if (is_plugin && shows_graphs) return fail("--backend", "a plugin shows no graphs");
      SandboxPolicy policy = sandbox;
      policy.trusts_adapters = true;
      policy.shows_graphs = shows_graphs;
      if (shows_graphs) policy.threads = 0;
      return open(name, policy);
    };
  }
  return with_settings(std::move(backend), std::move(others));
}

}  // namespace

Result<std::unique_ptr<Backend>> select(std::string_view name, RoundingProfile arithmetic,
                                        const SandboxPolicy& sandbox) {
  QCONFORM_ASSIGN(const auto what, parse_specification(name));
  return select_beside(what, {}, arithmetic, sandbox);
}

std::vector<std::string> siblings_of(const std::string& name) {
  auto what = parse_specification(name);
  const Library* library = what ? library_of(*what) : nullptr;
  if (library == nullptr || library->levels.empty()) return {};
  if (what->word.empty()) what->word = library->levels.front();
  const std::string own = what->word;
  if (std::find(library->levels.begin(), library->levels.end(), own) == library->levels.end()) return {};
  std::vector<std::string> siblings;
  for (const std::string_view level : library->levels) {
    what->word = level;
    if (level != own) siblings.push_back(text_of(*what));
  }
  return siblings;
}

std::span<const Switch> switches_of(const std::string& name) {
  const auto what = parse_specification(name);
  const Library* library = what ? library_of(*what) : nullptr;
  if (library == nullptr) return {};
  const bool is_plain = !library->levels.empty() && (what->word.empty() || what->word == library->levels.front());
  return is_plain ? std::span<const Switch>() : library->switches;
}

std::string with_switches(const std::string& name, std::span<const Switch> off) {
  auto what = parse_specification(name);
  if (!what) return name;
  for (const Switch& part : off) {
    const auto stated = std::find_if(what->settings.begin(), what->settings.end(),
                                     [&](const Setting& setting) { return setting.key == part.key; });
    if (stated == what->settings.end()) {
      what->settings.push_back({std::string(part.key), std::string(part.value)});
    } else if (part.is_listed) {
      stated->value += ";" + std::string(part.value);
    } else {
      stated->value = part.value;
    }
  }
  what->alias.clear();
  return text_of(*what);
}

Result<std::vector<std::unique_ptr<Backend>>> select_all(const std::vector<std::string>& names,
                                                         RoundingProfile arithmetic, const SandboxPolicy& sandbox) {
  std::vector<Specification> named;
  for (const std::string& name : names) {
    QCONFORM_ASSIGN(named.emplace_back(), parse_specification(name));
  }
  number_names(named);
  std::vector<std::unique_ptr<Backend>> backends;
  for (const Specification& what : named) {
    QCONFORM_ASSIGN(auto opened, select_beside(what, named, arithmetic, sandbox));
    backends.push_back(std::move(opened));
  }
  return backends;
}

}  // namespace qconform::backend
