// The folder in which suites keep what takes long to make, and the cases of suites in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/suite.h"

namespace qconform::cache {

/// Keeps solved arrays and cases in the folder from now on; empty, as it is at first: nowhere. The folder is made
/// when it is needed.
void use(std::filesystem::path folder);
/// The folder in use.
[[nodiscard]] std::filesystem::path folder();

/// $QCONFORM_CACHE, else $XDG_CACHE_HOME/qconform, else $HOME/.cache/qconform; empty where none of them is set.
[[nodiscard]] std::filesystem::path usual_folder();

/// Returns the faults of the folder so far, a sentence each: a damaged file, whose contents were made anew, or a file
/// that could not be written. Nothing is lost by either but time.
[[nodiscard]] std::vector<std::string> notes();
void note(std::string text);

/// Writes a file of the folder; the first fault becomes a note that names `what`: "a solved array of the sweep".
void write(const std::filesystem::path& file, std::string_view bytes, std::string_view what);

/// The cases of `source`, which cost more to make than to read: read from the file cases-NAME.bin of the folder where
/// this very program kept them, else taken from the source, and kept there once it comes to its end. They follow from
/// the source's name and `origin`: seed, number, contracts, in any words. A program is told from others by the size and
/// the time of its file; a file has a digest, and one that is damaged is made anew. Suites of one `name` take turns
/// with the file.
[[nodiscard]] std::unique_ptr<Suite> kept(std::unique_ptr<Suite> source, std::string_view name,
                                          std::string_view origin);

}  // namespace qconform::cache
