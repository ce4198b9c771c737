#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/text.h"
#include "reports/render/terminal.h"

namespace qconform::report {
namespace {

// The line that shows all layers has this character for one.
char sign_of(LayerState state) {
  constexpr std::string_view kSigns = ".,Ww?";
  static_assert(kSigns.size() == kLayerStates.size());
  return kSigns[static_cast<std::size_t>(state)];
}

std::string wrong_layer_row(const ModelLayerResult& layer, std::size_t position) {
  return fmt::format("  {:>5}  {}  {}, {}  {}\n", position + 1,
                     layer.state == LayerState::wrong ? "wrong itself" : "wrong behind", share_text(layer),
                     shown(layer.finding), shown(layer.id));
}

}  // namespace

std::string share_text(const ModelLayerResult& layer) {
  if (layer.state == LayerState::not_judged) return "not judged";
  if (!layer.is_wrong()) return with_thousands(layer.elements) + " elements";
  const auto elements = static_cast<double>(std::max<std::uint64_t>(1, layer.elements));
  return fmt::format("{:.3g} % of {} elements wrong", 100.0 * static_cast<double>(layer.wrong_elements) / elements,
                     with_thousands(layer.elements));
}

std::string layer_lines(const ModelRun& run) {
  constexpr std::size_t kWidth = 100;
  constexpr std::size_t kShown = 20;
  std::string text =
      "\nlayers in their order: . right, W wrong itself, w wrong behind a wrong one, `,` right but fed wrong values, "
      "? not judged\n";
  std::string line;
  std::string rows;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < run.layers.size(); ++i) {
    line += sign_of(run.layers[i].state);
    if (run.layers[i].is_wrong() && ++wrong <= kShown) rows += wrong_layer_row(run.layers[i], i);
  }
  for (std::size_t at = 0; at < line.size(); at += kWidth)
    text += fmt::format("  {:>5}  {}\n", at + 1, line.substr(at, kWidth));
  text += rows;
  if (wrong > kShown) text += fmt::format("         and {} more\n", wrong - kShown);
  if (const auto first = run.first_wrong()) {
    text += fmt::format("the first wrong layer: {} of {}, {}\n", *first + 1, run.layers.size(),
                        shown(run.layers[static_cast<std::size_t>(*first)].id));
  } else {
    text += "no layer is wrong\n";
  }
  if (run.disturbed.empty()) return text;
  return text + fmt::format(
                    "showing the values of all layers changes what the runtime fuses: {}; "
                    "what it else computes in one step is judged in parts\n",
                    shown(run.disturbed));
}

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

namespace {

constexpr std::size_t kColumns = 80;

// "412 of 430 (95.8 %)": 100.0 only where it is all.
std::string share(std::uint64_t part, std::uint64_t whole) {
  const std::uint64_t tenths = whole == 0 ? 1000 : part * 1000 / whole;
  return fmt::format("{} of {} ({}.{} %)", with_thousands(part), with_thousands(whole), tenths / 10, tenths % 10);
}

// The end of `text`, which tells names apart better than their beginning.
std::string end_of(std::string text, std::size_t width) {
  return text.size() <= width ? text : ".." + text.substr(text.size() - width + 2);
}

std::string beginning_of(std::string text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

// The folder that has all files of the plugin, with a slash at its end; empty where there is none but the root.
std::string folder_of(const CoverResult& result) {
  if (result.files.empty()) return "";
  std::string folder = result.files.front().file;
  for (const FileCode& file : result.files) {
    const auto ends = std::mismatch(folder.begin(), folder.end(), file.file.begin(), file.file.end());
    folder.erase(ends.first, folder.end());
  }
  folder.erase(folder.rfind('/') + 1);
  return folder.size() > 1 ? folder : "";
}

std::string totals(const CoverResult& result) {
  std::uint64_t lines = 0;
  std::uint64_t executed = 0;
  for (const FileCode& file : result.files) {
    lines += file.lines;
    executed += file.executed;
  }
  std::string text = fmt::format("  edges      {}, {} of them while it was loaded\n",
                                 share(result.executed, result.edges), with_thousands(result.by_loading));
  if (!result.no_lines.empty()) return text + fmt::format("  lines      unknown: {}\n", shown(result.no_lines));
  const auto called = static_cast<std::uint64_t>(std::count_if(result.functions.begin(), result.functions.end(),
                                                               [](const FunctionCode& f) { return f.executed > 0; }));
  return text + fmt::format("  lines      {}\n  functions  {}\n", share(executed, lines),
                            share(called, result.functions.size()));
}

std::string stage_rows(const CoverResult& result) {
  constexpr int kName = 46;
  std::string text = fmt::format("\n{:<{}} {:>12} {:>12}\n", "suite", kName, "cases", "new edges");
  for (const CoverStage& stage : result.stages) {
    text += fmt::format("{:<{}} {:>12} {:>12}\n", beginning_of(shown(stage.name), kName), kName,
                        with_thousands(stage.cases), with_thousands(stage.edges));
  }
  return text;
}

std::string function_rows(const CoverResult& result, std::size_t folder) {
  std::string text;
  for (const FunctionCode& function : result.functions) {
    if (function.executed > 0) continue;
    const std::string place = fmt::format("  {}:{}  ", end_of(shown(function.file.substr(folder)), 36), function.line);
    text += place + beginning_of(shown(function.name), kColumns - place.size()) + "\n";
  }
  return text.empty() ? "" : "\nfunctions that no case executes\n" + text;
}

// "  kernel.cc  18-21, 40, 77-80", in as many lines as it takes.
std::string line_rows(const CoverResult& result, std::size_t folder) {
  std::string text;
  for (const FileCode& file : result.files) {
    if (file.not_executed.empty()) continue;
    text += "  " + end_of(shown(file.file.substr(folder)), kColumns - 2) + "\n";
    std::string row = "   ";
    for (const LineRange& range : file.not_executed) {
      std::string item =
          range.first == range.last ? fmt::format(" {}", range.first) : fmt::format(" {}-{}", range.first, range.last);
      if (&range != &file.not_executed.back()) item += ",";
      if (row.size() + item.size() > kColumns) text += std::exchange(row, "   ") + "\n";
      row += item;
    }
    text += row + "\n";
  }
  return text.empty() ? "" : "\nlines that no case executes\n" + text;
}

}  // namespace

std::string cover_table(const CoverResult& result) {
  std::string text = fmt::format("{}   seed {}\n", end_of(shown(result.backend), kColumns - 28), result.seed);
  const std::string folder = folder_of(result);
  text += totals(result) + stage_rows(result) + function_rows(result, folder.size()) + line_rows(result, folder.size());
  text += fmt::format("\n{} cases execute all that was executed, and detect what all detect\n",
                      with_thousands(result.kept));
  if (result.lost > 0) {
    text += fmt::format("but for {} edges: what the plugin executes depends on earlier cases\n",
                        with_thousands(result.lost));
  }
  return text + (result.power ? power_lines(*result.power, "") : "");
}

}  // namespace qconform::report
