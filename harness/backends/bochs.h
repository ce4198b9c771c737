// Other processors by the emulator Bochs, in a small Linux of their own: what qemu's user-mode emulators lack.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/sandbox/sandbox.h"
#include "harness/base/error.h"

namespace qconform::backend {

/// Stands in front of a processor's name where qemu has one of that name too.
inline constexpr std::string_view kBochsPrefix = "bochs:";
/// The disk of the emulated machine that it shares with qconform.
inline constexpr std::string_view kBochsLine = "/dev/sdb";
/// Bytes of memory that a worker in the emulated machine may take at most: the machine has 1 GiB.
inline constexpr std::int64_t kBochsMemory = std::int64_t{512} << 20;

/// The names of its processors, in lower case: "haswell", "sapphire_rapids".
[[nodiscard]] std::vector<std::string_view> bochs_models();
/// Whether --cpu means one of them: "sapphire_rapids", "bochs:sapphire_rapids".
[[nodiscard]] bool is_bochs_model(std::string_view cpu);
/// The processor's name in reports: "bochs:sapphire_rapids".
[[nodiscard]] std::string whole_bochs_name(std::string_view cpu);
/// Whether scripts/get-bochs has been run for this build, or QCONFORM_BOCHS names a folder that it made.
[[nodiscard]] bool has_bochs();

/// The command that runs qconform on processor `cpu` of these, with `files` beside the program and its libraries;
/// qconform's own arguments are added to `program`. Errors: Bochs is not here.
[[nodiscard]] Result<GuestCommand> bochs_command(std::string_view cpu, const std::vector<std::filesystem::path>& files);

/// The libraries that `work` loads, and the files that say which release they are, found in a process of its own.
[[nodiscard]] std::vector<std::filesystem::path> files_mapped_by(const std::function<void()>& work);

}  // namespace qconform::backend
