// The subcommands of qconform, one file for each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace qconform::cli {

/// Exit codes of every command.
inline constexpr int kConforms = 0;
inline constexpr int kDoesNotConform = 1;
inline constexpr int kFault = 2;  ///< the harness or its arguments are at fault

/// Set by the subcommand that was chosen; runs it and returns the exit code.
using Action = std::function<int()>;

void add_run(CLI::App& app, Action& action);
void add_fuzz(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_shrink(CLI::App& app, Action& action);
void add_audit(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);

}  // namespace qconform::cli
