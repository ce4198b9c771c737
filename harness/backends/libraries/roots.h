// Other releases of libraries than the one that the program was built with, each in a folder of its own.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/specification.h"
#include "harness/base/error.h"

namespace qconform::libraries {

/// A release as scripts/library-root fetched it: the folder NAME-VERSION below QCONFORM_ROOTS, or below build/roots of
/// the tree that the program was built in.
struct LibraryRoot {
  std::string version;
  std::filesystem::path folder;
};

/// The roots of library `name`, the oldest first. A folder without the file VERSION, which is written last, is none.
[[nodiscard]] std::vector<LibraryRoot> roots_of(std::string_view name);

/// The versions of the roots of library `name`.
[[nodiscard]] std::vector<std::string> versions_of_roots(std::string_view name);

/// The release that `what` asks for: its version, or the newest that begins with it ("1.14" of "1.14.0"). The error
/// tells the releases that are there, `built_with` among them, and how to fetch another.
[[nodiscard]] Result<LibraryRoot> root_for(const backend::Specification& what, std::string_view built_with);

/// Returns the error for a root that cannot be used as it is: it says `why`, and names the command that fetches it
/// again.
[[nodiscard]] Error damaged_root(const backend::Specification& what, const LibraryRoot& root, std::string_view why);

}  // namespace qconform::libraries
