#include "reports/render/node_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "reports/render/terminal.h"

namespace qconform::report {
namespace {

const NodeCoverage* judged_of(const BackendResult& backend, const std::string& suite) {
  const auto found = std::find_if(backend.nodes.begin(), backend.nodes.end(),
                                  [&](const NodeCoverage& model) { return model.suite == suite; });
  return found == backend.nodes.end() ? nullptr : &*found;
}

std::vector<const NodeCoverage*> models_of(const Report& report) {
  std::vector<const NodeCoverage*> models;
  for (const SuiteResult& suite : report.suites) {
    if (suite.nodes) models.push_back(&*suite.nodes);
  }
  return models;
}

// The backends of each share, in the order of the first of each.
std::vector<std::string> share_lines(const Report& report, const NodeCoverage& model, bool names_model) {
  std::vector<std::pair<std::string, std::string>> shares;
  for (const BackendResult& backend : report.backends) {
    const NodeCoverage* judged = judged_of(backend, model.suite);
    if (judged == nullptr) continue;
    const std::string text = share_text(*judged);
    auto share = std::find_if(shares.begin(), shares.end(), [&](const auto& known) { return known.first == text; });
    if (share == shares.end()) share = shares.insert(share, {text, ""});
    share->second += (share->second.empty() ? "" : ", ") + shown(backend.info.name);
  }
  std::vector<std::string> lines;
  for (const auto& [text, names] : shares) {
    lines.push_back(fmt::format("{}: {}{}", text, names, names_model ? fmt::format(" ({})", shown(model.suite)) : ""));
  }
  return lines;
}

std::string uncovered_lines(const std::vector<UncoveredNodes>& parts) {
  std::string text;
  for (const UncoveredNodes& part : parts) text += uncovered_line(part) + "\n";
  return text;
}

std::string lines_of(const Report& report, const NodeCoverage& model) {
  std::string text = fmt::format("  cases hold {} of {} quantized nodes, and {} of {} that are not quantized\n",
                                 with_thousands(model.covered), with_thousands(model.quantized()),
                                 with_thousands(model.others_covered), with_thousands(model.others));
  if (!model.uncovered.empty()) text += "  in no case:\n" + uncovered_lines(model.uncovered);
  for (const BackendResult& backend : report.backends) {
    const NodeCoverage* judged = judged_of(backend, model.suite);
    if (judged == nullptr) continue;
    std::vector<UncoveredNodes> own;
    std::copy_if(judged->uncovered.begin(), judged->uncovered.end(), std::back_inserter(own), [&](const auto& part) {
      return std::find(model.uncovered.begin(), model.uncovered.end(), part) == model.uncovered.end();
    });
    if (!own.empty()) text += fmt::format("  not judged on {}:\n", shown(backend.info.name)) + uncovered_lines(own);
  }
  return text;
}

}  // namespace

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  if (part >= whole) return part == 0 ? "0 %" : "100 %";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  const double shown_percent = part == 0 ? 0 : std::clamp(percent, 0.1, 99.9);
  std::string text = fmt::format("{:.1f}", shown_percent);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + " %";
}

std::string share_text(const NodeCoverage& judged) {
  return fmt::format("judged {} of {} ({})", with_thousands(judged.covered),
                     plural(judged.quantized(), "quantized node"), share_text(judged.covered, judged.quantized()));
}

std::vector<std::string> share_lines(const Report& report) {
  const auto models = models_of(report);
  std::vector<std::string> lines;
  for (const NodeCoverage* model : models) {
    for (std::string& line : share_lines(report, *model, models.size() > 1)) lines.push_back(std::move(line));
  }
  return lines;
}

std::string uncovered_line(const UncoveredNodes& part) {
  return fmt::format("    {:>7}  {}: {}", with_thousands(part.nodes), shown(part.op_type), shown(part.reason));
}

std::string node_lines(const Report& report, const Painter& paint) {
  const auto models = models_of(report);
  std::string text;
  for (const NodeCoverage* model : models) {
    for (const std::string& line : share_lines(report, *model, models.size() > 1)) {
      text += (line.find("(100 %)") == std::string::npos ? paint.aside(line) : paint.good(line)) + "\n";
    }
    text += lines_of(report, *model);
  }
  return text;
}

}  // namespace qconform::report
