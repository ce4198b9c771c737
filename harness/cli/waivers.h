// The options about known discrepancies, the same for every command that runs campaigns.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "harness/core/error.h"
#include "harness/engine/waivers.h"

namespace qconform::cli {

struct WaiverOptions {
  std::string file;   ///< empty: none was named
  std::string draft;  ///< where to write waivers for what is found; empty: nowhere
};

void add_waiver_options(CLI::App& command, WaiverOptions& options, const std::string& default_text);

/// Those of the named file, or of `otherwise` where none was named; "none" stands for none.
[[nodiscard]] Result<std::optional<Waivers>> chosen_waivers(const WaiverOptions& options,
                                                            const std::filesystem::path& otherwise);

/// Writes the draft if one was asked for.
[[nodiscard]] Result<void> write_draft(const WaiverOptions& options, const WaiverDraft& draft);

}  // namespace qconform::cli
