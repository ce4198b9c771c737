// The commands as data. Manual pages and shell completion are made from it, so that every option is listed once.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace qconform::cli {

struct OptionModel {
  std::vector<std::string> names;  ///< "-o", "--out"; of a positional only "REPORT"
  bool positional = false;
  bool takes_value = false;
  bool required = false;
  std::string value;          ///< "TEXT", "UINT"; empty for flags
  std::string default_value;  ///< may be empty
  std::string description;
};

struct CommandModel {
  std::vector<std::string> path;  ///< {"qconform", "report", "junit"}
  std::string description;
  std::string footer;  ///< example and exit code, in lines
  std::vector<OptionModel> options;
  std::vector<CommandModel> commands;  ///< those that are not hidden

  /// "qconform report junit" with that between the words.
  [[nodiscard]] std::string name(const std::string& separator = " ") const;
};

[[nodiscard]] CommandModel model_of(const CLI::App& app);

/// The command and all below it, each before its own.
[[nodiscard]] std::vector<const CommandModel*> all_commands(const CommandModel& root);

}  // namespace qconform::cli
