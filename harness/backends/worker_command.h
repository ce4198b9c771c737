// Commands that start workers elsewhere: on other processors, by emulators of user mode and by Bochs, which emulates a
// machine; and in namespaces of their own.
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

// Other processors by qemu's user-mode emulators: which model runs how.

/// How much longer an emulated worker may take for a case, and to open its backend.
inline constexpr double kEmulationSlowdown = 30;

/// Whether this processor says that it is an emulator's: x86-64's does.
[[nodiscard]] bool is_emulated();

/// This program's file. Errors: the system does not tell it.
[[nodiscard]] Result<std::filesystem::path> own_program();

/// The emulators' programs that are installed: "qemu-x86_64", "qemu-aarch64".
[[nodiscard]] std::vector<std::string> installed_emulators();

/// The command that runs qconform on processor `cpu`, to which qconform's own arguments are added. `cpu`: a
/// model that `qemu-x86_64 -cpu help` lists, for the program that is running; or one of `qemu-aarch64 -cpu help`,
/// for an arm64 build of qconform: `arm64_program`, or build/arm64-qemu/bin/qconform beside this build where that
/// is empty. A model of both, "max", needs a prefix: "x86_64:max", "aarch64:max".
///
/// Errors: no such model, no emulator, no program.
[[nodiscard]] Result<std::vector<std::string>> emulated_program(const std::string& cpu,
                                                                const std::string& arm64_program);

/// `command`, a program of this machine and its arguments, on processor `cpu`. Errors also: a processor of another
/// kind.
[[nodiscard]] Result<std::vector<std::string>> emulated_command(const std::string& cpu,
                                                                const std::vector<std::string>& command);

// Other processors by Bochs.

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

// Workers in namespaces of their own, by bubblewrap.

/// The words in front of a command that runs it without a network, without rights, without other processes in sight,
/// and with files that it can read but not write. Errors, of field "--isolation": bubblewrap is not here, or the system
/// lets it make no namespaces.
[[nodiscard]] Result<std::vector<std::string>> confining_words();

}  // namespace qconform::backend
