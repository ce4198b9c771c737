#include "harness/backends/select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/backends/defect.h"
#include "harness/backends/emulator.h"
#include "harness/backends/in_tree.h"
#include "harness/backends/library.h"
#include "harness/backends/plugin.h"
#include "harness/backends/process.h"
#include "harness/backends/threads_check.h"
#include "harness/backends/valid_only.h"
#include "reference/kernels/kernels.h"

namespace qconform::backend {
namespace {

constexpr std::string_view kDefectPrefix = "defect:";
constexpr std::string_view kPluginPrefix = "plugin:";
constexpr std::string_view kProcessPrefix = "process:";

std::vector<std::string> kernels_where(bool available) {
  std::vector<std::string> names;
  for (const reference::KernelSet& set : reference::kernel_sets()) {
    if (set.available() == available) names.emplace_back(set.name);
  }
  return names;
}

// The profiles that name an arithmetic; the others admit sets.
Result<RoundingProfile> pinned_arithmetic(std::string_view name) {
  std::vector<std::string_view> known;
  for (const ProfileInfo& info : profiles()) {
    const auto tier = tier_of(info.profile);
    if (tier && *tier != reference::Tier::exact) continue;
    if (info.name == name) return arithmetic_of(info.profile);
    known.push_back(info.name);
  }
  return fail("--backend",
              fmt::format("expected an arithmetic behind @ ({}), got \"{}\"", fmt::join(known, ", "), name));
}

Result<std::unique_ptr<Backend>> open_library(const Library& library, std::string_view name) {
  const LibraryState state = library.state();
  if (!state.absent.empty()) return fail("--backend", fmt::format("{} is not here: {}", library.name, state.absent));
  const std::size_t at = name.find('@');
  const std::string_view variant = at == std::string_view::npos ? std::string_view() : name.substr(at + 1);
  const auto& known = library.variants;
  if (at != std::string_view::npos && std::find(known.begin(), known.end(), variant) == known.end()) {
    return fail("--backend",
                fmt::format("expected {} behind {}@, got \"{}\"", fmt::join(known, ", "), library.name, variant));
  }
  return library.open(variant, std::string(name));
}

bool is_third_party(std::string_view name) {
  const std::string_view library_name = name.substr(0, name.find('@'));
  const auto offered = offered_libraries();
  return name.starts_with(kPluginPrefix) ||
         std::any_of(offered.begin(), offered.end(), [&](const Library& l) { return l.name == library_name; });
}

Result<std::unique_ptr<Backend>> open_here(std::string_view name, RoundingProfile arithmetic) {
  if (name.starts_with(kDefectPrefix)) {
    QCONFORM_ASSIGN(auto model, diagnose::Model::named(name.substr(kDefectPrefix.size()), arithmetic, "--backend"));
    return defect_model(std::move(model), std::string(name));
  }
  if (name.starts_with(kPluginPrefix)) return load_plugin(std::string(name.substr(kPluginPrefix.size())));
  const std::size_t at = name.find('@');
  const std::string_view set_name = name.substr(0, at);
  for (const Library& library : offered_libraries()) {
    if (set_name == library.name) return open_library(library, name);
  }
  if (at != std::string_view::npos) {
    QCONFORM_ASSIGN(arithmetic, pinned_arithmetic(name.substr(at + 1)));
  }
  for (const reference::KernelSet& set : reference::kernel_sets()) {
    if (set_name != set.name) continue;
    if (!set.available())
      return fail("--backend", fmt::format("{} does not run on this CPU: {}", set.name, set.description));
    return in_tree(set, arithmetic, std::string(name));
  }
  return fail("--backend", fmt::format("no backend \"{}\"; this build and CPU have {}, plugin:PATH.so, "
                                       "process:COMMAND and defect:ID",
                                       name, fmt::join(default_backends(), ", ")));
}

Error one_thread_only(std::string_view name) {
  return {"--threads-check", fmt::format("{} runs one case from one thread at a time", name), {}};
}

Result<std::unique_ptr<Backend>> open_checked(std::string_view name, RoundingProfile arithmetic, int threads) {
  auto backend = open_here(name, arithmetic);
  if (!backend || threads == 0) return backend;
  if (!(*backend)->info().concurrent) return tl::unexpected(one_thread_only(name));
  return threads_checked(std::move(*backend), threads);
}

std::string_view profile_name(RoundingProfile arithmetic) {
  const auto all = profiles();
  const auto pins = [&](const ProfileInfo& info) {
    return pinned_arithmetic(info.name) && arithmetic_of(info.profile) == arithmetic;
  };
  return std::find_if(all.begin(), all.end(), pins)->name;
}

Result<std::unique_ptr<Backend>> open_emulated(std::string_view name, const std::string& plain, const std::string& cpu,
                                               RoundingProfile arithmetic, const IsolationPolicy& isolation) {
  QCONFORM_ASSIGN(auto command, emulated_program(cpu, isolation.arm64_program));
  command.insert(command.end(), {"worker", "--backend", plain, "--profile", std::string(profile_name(arithmetic)),
                                 "--threads", std::to_string(isolation.threads)});
  Isolation limits = isolation.limits;
  limits.timeout *= kEmulationSlowdown;
  return isolate_program(std::move(command), std::string(name), limits);
}

}  // namespace

std::vector<std::string> on_cpus(const std::vector<std::string>& backends, const std::vector<std::string>& cpus) {
  if (cpus.empty()) return backends;
  std::vector<std::string> names;
  for (const std::string& name : backends) {
    for (const std::string& cpu : cpus) names.push_back(cpu == "native" ? name : fmt::format("{}[{}]", name, cpu));
  }
  return names;
}

std::vector<std::string> available_kernels() {
  return kernels_where(true);
}
std::vector<std::string> default_backends() {
  std::vector<std::string> names = kernels_where(true);
  for (const Library& library : offered_libraries()) {
    if (library.state().absent.empty()) names.emplace_back(library.name);
  }
  return names;
}
std::vector<std::string> unavailable_kernels() {
  return kernels_where(false);
}

Result<std::unique_ptr<Backend>> select(std::string_view name, RoundingProfile arithmetic,
                                        const IsolationPolicy& isolation) {
  using Which = IsolationPolicy::Which;
  if (name.ends_with(kValidOnly)) {
    QCONFORM_ASSIGN(auto inner, select(name.substr(0, name.size() - kValidOnly.size()), arithmetic, isolation));
    return valid_only(std::move(inner));
  }
  // A process of its own whatever the policy says.
  if (name.starts_with(kProcessPrefix)) {
    if (isolation.threads != 0) return tl::unexpected(one_thread_only(name));
    return open_process(name.substr(kProcessPrefix.size()), isolation.limits);
  }
  if (const auto emulated = split_cpu(name)) {
    return open_emulated(name, emulated->first, emulated->second, arithmetic, isolation);
  }
  const bool in_worker =
      isolation.which == Which::all || (isolation.which == Which::third_party && is_third_party(name));
  if (!in_worker) return open_checked(name, arithmetic, isolation.threads);
  const auto open = [name = std::string(name), arithmetic, threads = isolation.threads]() {
    return open_checked(name, arithmetic, threads);
  };
  return isolate(open, isolation.limits);
}

Result<std::vector<std::unique_ptr<Backend>>> select_all(const std::vector<std::string>& names,
                                                         RoundingProfile arithmetic, const IsolationPolicy& isolation) {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const std::string& name : names) {
    QCONFORM_ASSIGN(auto opened, select(name, arithmetic, isolation));
    backends.push_back(std::move(opened));
  }
  return backends;
}

}  // namespace qconform::backend
