#include "harness/cli/waivers.h"

#include "harness/base/file.h"

namespace qconform::cli {

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

}  // namespace qconform::cli
