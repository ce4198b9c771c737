#include "harness/backends/code_coverage/code_map.h"

#include <algorithm>
#include <map>
#include <utility>

namespace qconform {
namespace {

// A block reaches from the instruction that begins it to the next one that does so. What stands before the first of a
// function saves registers, and belongs to it.
std::vector<std::size_t> code_blocks(const CodeListing& listing, const std::vector<bool>& begins) {
  const auto& instructions = listing.instructions;
  std::vector<std::size_t> block(instructions.size(), instructions.size());
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool goes_on = i > 0 && instructions[i - 1].symbol == instructions[i].symbol;
    block[i] = begins[i] ? i : goes_on ? block[i - 1] : block.size();
  }
  for (std::size_t i = block.size(); i-- > 1;) {
    const bool goes_on = instructions[i - 1].symbol == instructions[i].symbol;
    if (goes_on && block[i - 1] == block.size()) block[i - 1] = block[i];
  }
  return block;
}

// The user asks what of the plugin runs, not what of the standard library does.
bool is_of_system(const std::string& file) {
  return file.empty() || file.starts_with("/usr/");
}

using Lines = std::map<std::uint32_t, bool>;  // those that have code, and whether it was executed

std::uint64_t executed_of(const Lines& lines) {
  return static_cast<std::uint64_t>(std::count_if(lines.begin(), lines.end(), [](const auto& l) { return l.second; }));
}

std::vector<LineRange> not_executed(const Lines& lines) {
  std::vector<LineRange> ranges;
  bool goes_on = false;
  for (const auto& [line, is_executed] : lines) {
    if (!is_executed && goes_on) ranges.back().last = line;
    if (!is_executed && !goes_on) ranges.push_back({line, line});
    goes_on = !is_executed;
  }
  return ranges;
}

class LinesByPlace {
 public:
  void add(const CodeListing& listing, const CodeListing::Instruction& instruction, bool is_executed) {
    const std::string& file = listing.files[instruction.file];
    if (instruction.line == 0 || is_of_system(file)) return;
    bool& of_file = files_[file][instruction.line];
    bool& of_function = functions_[{file, listing.functions[instruction.function]}][instruction.line];
    of_file = of_file || is_executed;
    of_function = of_function || is_executed;
  }

  [[nodiscard]] SourceCoverage source() const {
    SourceCoverage source;
    for (const auto& [file, lines] : files_) {
      source.files.push_back({file, lines.size(), executed_of(lines), not_executed(lines)});
    }
    for (const auto& [name, lines] : functions_) {
      source.functions.push_back({name.second, name.first, lines.begin()->first, lines.size(), executed_of(lines)});
    }
    return source;
  }

 private:
  std::map<std::string, Lines> files_;
  std::map<std::pair<std::string, std::string>, Lines> functions_;
};

}  // namespace

std::size_t CodeMap::begin_of(const CodeListing& listing, CodeCoverage::Form form, CodePlace place) {
  if (place.offset == CodePlace::kNowhere) return listing.instructions.size();
  // A call says where it returns to.
  return listing.at(form == CodeCoverage::Form::calls ? place.offset - 1 : place.offset);
}

Result<CodeMap> CodeMap::of(const CodeCoverage& code) {
  CodeMap map;
  std::vector<std::vector<bool>> begins;
  for (const std::string& file : code.modules()) {
    QCONFORM_ASSIGN(auto listing, list_code(file));
    auto& its_begins = begins.emplace_back();
    for (const auto& instruction : listing.instructions) its_begins.push_back(instruction.reports);
    map.modules_.push_back({std::move(listing), {}});
  }
  if (const auto guards = code.edges()) {
    map.edges_ = *guards;
    for (std::uint32_t edge = 0; edge < *guards; ++edge) {
      const CodePlace place = code.place(edge);
      if (place.module >= map.modules_.size()) continue;
      const std::size_t begin = begin_of(map.modules_[place.module].listing, code.form(), place);
      if (begin < begins[place.module].size()) begins[place.module][begin] = true;
    }
  } else {
    for (const auto& reports : begins) {
      map.edges_ += static_cast<std::uint32_t>(std::count(reports.begin(), reports.end(), true));
    }
  }
  for (std::size_t i = 0; i < begins.size(); ++i)
    map.modules_[i].block = code_blocks(map.modules_[i].listing, begins[i]);
  return map;
}

bool CodeMap::has_lines() const {
  return std::any_of(modules_.begin(), modules_.end(), [](const Module& module) { return module.listing.has_lines(); });
}

SourceCoverage CodeMap::source(const CodeCoverage& code, const std::vector<std::uint32_t>& executed) const {
  LinesByPlace lines;
  for (std::uint32_t m = 0; m < modules_.size(); ++m) {
    const CodeListing& listing = modules_[m].listing;
    std::vector<bool> runs(listing.instructions.size() + 1);  // by the instruction that begins a block
    for (const std::uint32_t edge : executed) {
      const CodePlace place = code.place(edge);
      if (place.module == m) runs[begin_of(listing, code.form(), place)] = true;
    }
    for (std::size_t i = 0; i < listing.instructions.size(); ++i) {
      const std::size_t block = modules_[m].block[i];
      if (block < listing.instructions.size()) lines.add(listing, listing.instructions[i], runs[block]);
    }
  }
  return lines.source();
}

}  // namespace qconform
