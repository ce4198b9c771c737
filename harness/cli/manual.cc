// Manual pages, from what --help says.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "harness/base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/command_model.h"
#include "harness/core/version.h"

namespace qconform::cli {
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
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error) return fail("--out", fmt::format("cannot make the folder {}: {}", options.out, error.message()));
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

}  // namespace qconform::cli
