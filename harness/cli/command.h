// The subcommands of qconform, one file for each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "harness/base/error.h"
#include "harness/cli/output.h"

namespace qconform::cli {

/// Exit codes of every command.
inline constexpr int kConforms = 0;
inline constexpr int kDoesNotConform = 1;
inline constexpr int kFault = 2;  ///< the harness or its arguments are at fault

/// Set by the subcommand that was chosen; runs it and returns the exit code.
using Action = std::function<int()>;

/// Makes `body` the action when `command` is chosen: it gets the options and returns the exit code, or a
/// fault, which is reported. `Argument` is Options, by value or by const reference.
template <class Options, class Argument>
void when_chosen(CLI::App& command, Action& action, std::shared_ptr<Options> options, Result<int> (*body)(Argument)) {
  command.callback([&action, options = std::move(options), body] {
    action = [options, body] {
      const Result<int> code = body(*options);
      return code ? *code : report_fault(code.error());
    };
  });
}

/// The case that a command is about, as its one operand.
inline void add_case_operand(CLI::App& command, std::string& file) {
  command.add_option("case", file, "Case file (.json or one-node .onnx) or backend-test folder")->required();
}

/// Checks a number: "0 is below 1, the least that is possible". is_number() refuses other text.
[[nodiscard]] CLI::Validator at_least(int least);

/// Checks that a text is a number of CLI11's type UINT, INT or FLOAT: CLI11 itself takes the largest one for what 64
/// bits do not hold.
[[nodiscard]] CLI::Validator is_number(const std::string& type);

void add_run(CLI::App& app, Action& action);
void add_fuzz(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_shrink(CLI::App& app, Action& action);
void add_audit(CLI::App& app, Action& action);
void add_identify(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_capture(CLI::App& app, Action& action);
void add_model(CLI::App& app, Action& action);
void add_qdq(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_contract(CLI::App& app, Action& action);
void add_cover(CLI::App& app, Action& action);
void add_matrix(CLI::App& app, Action& action);
void add_bisect(CLI::App& app, Action& action);
void add_gate(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_worker(CLI::App& app, Action& action);
/// These two describe the others: they are added last, and walk over `app` when they run.
void add_completion(CLI::App& app, Action& action);
void add_manual(CLI::App& app, Action& action);

}  // namespace qconform::cli
