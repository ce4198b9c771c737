// Shell completion, from the commands and options that there are.
#include <fmt/format.h>

#include <memory>

#include "harness/cli/command.h"
#include "harness/cli/command_model.h"

namespace qconform::cli {
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
