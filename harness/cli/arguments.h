// Arguments that several commands have: how strictly to judge, known discrepancies, lengths of time, the case that a
// command is about.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/engine/waivers.h"

namespace qconform::cli {

struct PolicyOptions {
  std::string profile = "conformance";
  std::string overflow = "wrap";
};

void add_policy_options(CLI::App& command, PolicyOptions& options);

[[nodiscard]] Result<Policy> chosen_policy(const PolicyOptions& options);

struct WaiverOptions {
  std::string file;   ///< empty: none was named
  std::string draft;  ///< file to write waivers to for what is found; empty: none
};

void add_waiver_options(CLI::App& command, WaiverOptions& options, const std::string& default_text);

/// Those of the named file, or of `otherwise` where none was named; "none" stands for none.
[[nodiscard]] Result<std::optional<Waivers>> chosen_waivers(const WaiverOptions& options,
                                                            const std::filesystem::path& otherwise);

/// Writes the draft if one was asked for.
[[nodiscard]] Result<void> write_draft(const WaiverOptions& options, const WaiverDraft& draft);

/// "90s", "10m", "8h" or "500ms": a whole or decimal number above 0 and a unit. `field` is the option that the
/// error names.
[[nodiscard]] Result<std::chrono::duration<double>> parse_duration(const std::string& field, std::string_view text);

/// Reads the one case of a file or folder (load_single_case), and says on stderr when its opset is newer than
/// qconform.
[[nodiscard]] Result<Case> load_operand(const std::string& file);

}  // namespace qconform::cli
