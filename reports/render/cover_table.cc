#include "reports/render/cover_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.h"
#include "reports/render/run_tables.h"

namespace qconform::report {
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
