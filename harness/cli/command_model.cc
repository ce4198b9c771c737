#include "harness/cli/command_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace qconform::cli {
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

}  // namespace qconform::cli
