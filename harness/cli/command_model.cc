#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/file.h"
#include "harness/cli/command.h"
#include "harness/core/version.h"

namespace qconform::cli {

// The commands as data. Manual pages and shell completion are made from it, so that every option is listed once.

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

namespace {

OptionModel option_model(const CLI::Option& option) {
  OptionModel model;
  model.positional = option.get_positional();
  if (model.positional) {
    model.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) model.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) model.names.push_back("--" + name);
  }
  model.takes_value = option.get_items_expected_max() > 0;
  model.required = option.get_required();
  if (model.takes_value) model.value = option.get_type_name();
  model.default_value = option.get_default_str();
  model.description = option.get_description();
  return model;
}

CommandModel command_model(const CLI::App& app, std::vector<std::string> path) {
  CommandModel model;
  path.push_back(app.get_name());
  model.path = path;
  model.description = app.get_description();
  model.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) model.options.push_back(option_model(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) model.commands.push_back(command_model(*command, path));
  }
  return model;
}

}  // namespace

std::string CommandModel::name(const std::string& separator) const {
  return fmt::format("{}", fmt::join(path, separator));
}

CommandModel model_of(const CLI::App& app) {
  return command_model(app, {});
}

std::vector<const CommandModel*> all_commands(const CommandModel& root) {
  std::vector<const CommandModel*> all{&root};
  for (const CommandModel& command : root.commands) {
    for (const CommandModel* each : all_commands(command)) all.push_back(each);
  }
  return all;
}

// Manual pages, from what --help says.

namespace {

struct ManualOptions {
  const CLI::App* app = nullptr;
  std::string out;
};

// Text in roff: hyphens that can be copied, no line that begins a request.
std::string roff(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string option_lines(const OptionModel& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  }
  if (!option.positional && option.takes_value) names += fmt::format(" \\fI{}\\fR", roff(option.value));
  std::string text = fmt::format(".TP\n{}\n{}", names, roff(option.description));
  if (option.required) text += " (required)";
  if (!option.default_value.empty()) text += fmt::format(" [{}]", roff(option.default_value));
  return text + "\n";
}

std::string synopsis(const CommandModel& command) {
  std::string text = fmt::format(".B {}\n", roff(command.name()));
  if (!command.commands.empty()) return text + ".I COMMAND\n[\\fIOPTION\\fR]...\n";
  text += "[\\fIOPTION\\fR]...\n";
  for (const OptionModel& option : command.options) {
    if (!option.positional) continue;
    const std::string name = "\\fI" + roff(option.names[0]) + "\\fR";
    text += (option.required ? name : "[" + name + "]") + "\n";
  }
  return text;
}

// Formats a command's footer (an example and the exit codes) as NOTES, and keeps its lines.
std::string footer_lines(const std::string& footer) {
  return footer.empty() ? "" : ".SH NOTES\n.nf\n" + roff(footer) + "\n.fi\n";
}

std::string page_of(const CommandModel& command, const CommandModel& root) {
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"qconform {}\" \"qconform\"\n", roff(command.name("-")), kVersion);
  text += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}", roff(command.name("-")), roff(command.description),
                      synopsis(command));
  if (!command.commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CommandModel& each : command.commands) {
      text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", roff(each.name("-")), roff(each.description));
    }
  }
  text += ".SH OPTIONS\n";
  for (const OptionModel& option : command.options) text += option_lines(option);
  text += footer_lines(command.footer);
  if (&command != &root) text += fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)\n", roff(root.name("-")));
  return text;
}

Result<int> run_manual(const ManualOptions& options) {
  const CommandModel root = model_of(*options.app);
  QCONFORM_TRY(make_folder("--out", options.out));
  for (const CommandModel* command : all_commands(root)) {
    const auto file = std::filesystem::path(options.out) / (command->name("-") + ".1");
    QCONFORM_TRY(write_file(file, page_of(*command, root)));
  }
  return kConforms;
}

}  // namespace

void add_manual(CLI::App& app, Action& action) {
  auto options = std::make_shared<ManualOptions>();
  options->app = &app;
  CLI::App* command = app.add_subcommand("manual", "Write the manual pages of all commands");
  command->group("");  // hidden: the pages are installed
  command->add_option("--out", options->out, "Folder to write to")->required();
  when_chosen(*command, action, std::move(options), &run_manual);
}

// Shell completion, from the commands and options that there are.

namespace {

struct CompletionOptions {
  const CLI::App* app = nullptr;
  std::string shell;
};

// 'text' for any of the shells.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c == '\n' ? ' ' : c);
  return result + "'";
}

std::string words_of(const CommandModel& command) {
  std::string words;
  for (const CommandModel& each : command.commands) words += each.path.back() + " ";
  for (const OptionModel& option : command.options) {
    if (option.positional) continue;
    for (const std::string& name : option.names) words += name + " ";
  }
  return words;
}

std::string valued_options(const CommandModel& command) {
  std::string words;
  for (const OptionModel& option : command.options) {
    if (option.positional || !option.takes_value) continue;
    for (const std::string& name : option.names) words += name + " ";
  }
  return words;
}

// Walks over the words to the command that is meant; the value of an option is a file name, as is what has no option's
// form.
constexpr std::string_view kBash = R"bash(
_qconform() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=qconform i word
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word != -* && -n ${_qconform_words["$command $word"]+there} ]]; then command="$command $word"; fi
  done
  if [[ " ${_qconform_valued[$command]} " == *" $previous "* ]]; then
    compopt -o default 2>/dev/null
    return 0
  fi
  mapfile -t COMPREPLY < <(compgen -W "${_qconform_words[$command]}" -- "$current")
  if [[ ${#COMPREPLY[@]} -eq 0 && $current != -* ]]; then compopt -o default 2>/dev/null; fi
  return 0
}
complete -F _qconform qconform
)bash";

std::string bash_script(const CommandModel& root) {
  std::string text = "# bash completion for qconform\ndeclare -gA _qconform_words _qconform_valued\n";
  for (const CommandModel* command : all_commands(root)) {
    text += fmt::format("_qconform_words[{}]={}\n", quoted(command->name()), quoted(words_of(*command)));
    text += fmt::format("_qconform_valued[{}]={}\n", quoted(command->name()), quoted(valued_options(*command)));
  }
  return text + std::string(kBash.substr(1));
}

// True in fish where exactly this command was typed so far.
std::string fish_condition(const CommandModel& command) {
  std::string words;
  for (std::size_t i = 1; i < command.path.size(); ++i) words += " " + command.path[i];
  return "__qconform_is" + words;
}

std::string fish_script(const CommandModel& root) {
  std::string text =
      "# fish completion for qconform\n"
      "function __qconform_is\n"
      "  set -l words (string match -v -- '-*' (commandline -opc)[2..])\n"
      "  test \"$words[1..$(count $argv)]\" = \"$argv\"\n"
      "end\n";
  for (const CommandModel* command : all_commands(root)) {
    const std::string condition = quoted(fish_condition(*command));
    for (const CommandModel& each : command->commands) {
      text += fmt::format("complete -c qconform -n {} -f -a {} -d {}\n", condition, each.path.back(),
                          quoted(each.description));
    }
    for (const OptionModel& option : command->options) {
      if (option.positional) continue;
      std::string names;
      for (const std::string& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      text += fmt::format("complete -c qconform -n {}{}{} -d {}\n", condition, names, option.takes_value ? " -r" : "",
                          quoted(option.description));
    }
  }
  return text;
}

// Returns a name with its description in quotes, as zsh's _describe takes them.
std::string zsh_described(const std::string& name, const std::string& description) {
  return " " + quoted(name + ":" + description);
}

// Walks over the words as bash's does.
constexpr std::string_view kZshBegin = R"zsh(#compdef qconform
_qconform() {
  local command=qconform word
  local -i i
  local -a known commands options valued
)zsh";
constexpr std::string_view kZshWalk = R"zsh(
  for ((i = 2; i < CURRENT; ++i)); do
    word=${words[i]}
    if [[ $word != -* ]] && (( ${known[(Ie)$command $word]} )); then command="$command $word"; fi
  done
  case $command in
)zsh";
constexpr std::string_view kZshEnd = R"zsh(
  esac
  if (( ${valued[(Ie)${words[CURRENT-1]}]} )); then
    _files
  elif [[ $PREFIX == -* ]]; then
    _describe -o option options
  elif (( ${#commands} )); then
    _describe command commands
  else
    _files
  fi
}
# As a file of fpath this is the function's body; sourced, it makes the function known.
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then _qconform "$@"; else compdef _qconform qconform; fi
)zsh";

std::string zsh_script(const CommandModel& root) {
  std::string text(kZshBegin);
  text += "  known=(";
  for (const CommandModel* command : all_commands(root)) text += " " + quoted(command->name());
  text += " )" + std::string(kZshWalk.substr(0, kZshWalk.size() - 1));
  for (const CommandModel* command : all_commands(root)) {
    std::string commands;
    std::string options;
    for (const CommandModel& each : command->commands) commands += zsh_described(each.path.back(), each.description);
    for (const OptionModel& option : command->options) {
      if (option.positional) continue;
      for (const std::string& name : option.names) options += zsh_described(name, option.description);
    }
    text += fmt::format("\n    {})\n      commands=({} )\n      options=({} )\n      valued=( {})\n      ;;",
                        quoted(command->name()), commands, options, valued_options(*command));
  }
  return text + std::string(kZshEnd);
}

Result<int> run_completion(const CompletionOptions& options) {
  const CommandModel root = model_of(*options.app);
  fmt::print("{}", options.shell == "bash"  ? bash_script(root)
                   : options.shell == "zsh" ? zsh_script(root)
                                            : fish_script(root));
  return kConforms;
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  auto options = std::make_shared<CompletionOptions>();
  options->app = &app;
  CLI::App* command = app.add_subcommand("completion", "Print the completion of commands and options for a shell");
  command->footer("example: source <(qconform completion bash)");
  command->add_option("SHELL", options->shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  when_chosen(*command, action, std::move(options), &run_completion);
}

}  // namespace qconform::cli
