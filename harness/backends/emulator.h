// Other processors by qemu's user-mode emulators: which model runs how.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/error.h"

namespace qconform::backend {

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

}  // namespace qconform::backend
