// Reading and writing whole files within limits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "harness/base/error.h"

namespace qconform {

/// The bytes of a file, pipe or device of at most `limit` bytes. A larger one is refused: a regular
/// file before it is read, anything else after `limit` bytes; so is a Git LFS pointer. The error's field is the path.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path, std::int64_t limit);

/// Refuses the text that Git LFS puts in place of a file until it fetches the file. `bytes` are the first 64 of the
/// file, or more; `field` names it.
[[nodiscard]] Result<void> refuse_git_lfs_pointer(const std::string& field, std::string_view bytes);

/// Writes the file beside its final place and renames it, so that a reader never sees half of it.
[[nodiscard]] Result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

/// Whether the path has a name that `write_file` gives a file until it is whole: whatever process wrote it may have
/// been killed.
[[nodiscard]] bool is_half_written(const std::filesystem::path& path);

/// Makes the folder, with those above it; none is the working folder. Errors name `field`: it cannot be made, or
/// nothing can be written there.
[[nodiscard]] Result<void> make_folder(const std::string& field, const std::filesystem::path& folder);

/// Makes the folder, with those above it, and calls `write`, which writes into it: again, some times, where somebody
/// removed the folder meanwhile, so that all that `write` wrote is there. Errors: of `write`; the folder cannot be
/// made, or does not stay, under the name `field`.
[[nodiscard]] Result<void> write_in(const std::string& field, const std::filesystem::path& folder,
                                    const std::function<Result<void>()>& write);

}  // namespace qconform
