#include "harness/cli/arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "harness/base/file.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/forms/json/profile_file.h"
#include "harness/suites/newer_opsets.h"
#include "harness/suites/select.h"

namespace qconform::cli {

void add_policy_options(CLI::App& command, PolicyOptions& options) {
  command
      .add_option(
          "--profile", options.profile,
          "Which right answers to admit: a name (see: qconform list profiles), or a file that identify -o wrote")
      ->capture_default_str();
  command
      .add_option("--overflow", options.overflow,
                  "ConvInteger beyond 32 bits (rule C17): wrap, or permissive to admit saturation too")
      ->capture_default_str();
}

Result<Policy> chosen_policy(const PolicyOptions& options) {
  return policy_named(options.profile, options.overflow);
}

void add_waiver_options(CLI::App& command, WaiverOptions& options, const std::string& default_text) {
  command.add_option("--waivers", options.file,
                     "File of known discrepancies, which do not make the run fail, or none (default: " + default_text +
                         "; docs/formats.md)");
  command.add_option("--draft-waivers", options.draft, "File for waivers of what the run finds; you add the reasons");
}

Result<std::optional<Waivers>> chosen_waivers(const WaiverOptions& options, const std::filesystem::path& otherwise) {
  const std::filesystem::path file = options.file.empty() ? otherwise : std::filesystem::path(options.file);
  if (file.empty() || file == "none") return std::nullopt;
  return in_context("--waivers", Waivers::load(file));
}

Result<void> write_draft(const WaiverOptions& options, const WaiverDraft& draft) {
  if (options.draft.empty()) return {};
  return write_file(options.draft, draft.text());
}

Result<std::chrono::duration<double>> parse_duration(const std::string& field, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const double seconds = unit == "ms" ? 0.001 : unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || seconds == 0 || !(number > 0)) {
    return fail(field, fmt::format("expected a positive number with a unit (ms, s, m or h), got \"{}\"", text));
  }
  return std::chrono::duration<double>(number * seconds);
}

Result<Case> load_operand(const std::string& file) {
  QCONFORM_ASSIGN(auto test_case, load_single_case(file));
  NewerOpsets newer;
  newer.add(test_case);
  print_note(newer.text());
  return test_case;
}

CLI::Validator at_least(int least) {
  return {[least](std::string& text) -> std::string {
            char* end = nullptr;
            const double value = std::strtod(text.c_str(), &end);
            if (end != text.c_str() + text.size() || value >= least) return {};
            return fmt::format("{} is below {}, the least that is possible", text, least);
          },
          ""};
}

}  // namespace qconform::cli
