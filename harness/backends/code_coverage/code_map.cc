#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "harness/backends/code_coverage/code_coverage.h"
#include "harness/base/process.h"
#include "harness/base/text.h"

namespace qconform {
namespace {

constexpr int kNotFound = 127;  // the exit status of a shell that does not find the program

// False where `text` does not begin with a number.
template <typename T>
bool take_number(std::string_view& text, T& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end == text.data()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool calls_recorder(std::string_view instruction) {
  const bool is_call = instruction.starts_with("call") || instruction.starts_with("bl");
  return is_call && (instruction.find("<__sanitizer_cov_trace_pc>") != std::string_view::npos ||
                     instruction.find("<__sanitizer_cov_trace_pc@") != std::string_view::npos);
}

// Gives each whole line to `take`, and leaves the rest.
void take_lines(std::string& text, const std::function<void(std::string_view)>& take) {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    take(std::string_view(text).substr(begin, end - begin));
  }
  text.erase(0, begin);
}

}  // namespace

bool CodeListing::has_lines() const {
  return std::any_of(instructions.begin(), instructions.end(), [](const Instruction& i) { return i.line != 0; });
}

std::size_t CodeListing::at(std::uint64_t offset) const {
  const auto behind = std::upper_bound(instructions.begin(), instructions.end(), offset,
                                       [](std::uint64_t value, const Instruction& i) { return value < i.offset; });
  return behind == instructions.begin() ? instructions.size()
                                        : static_cast<std::size_t>(behind - instructions.begin()) - 1;
}

std::uint32_t CodeListingReader::number_of(std::string_view name, Numbers& numbers, std::vector<std::string>& names) {
  const auto found = numbers.find(name);
  if (found != numbers.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(names.size());
  numbers.emplace(name, number);
  names.emplace_back(name);
  return number;
}

void CodeListingReader::take(std::string_view line) {
  if (line.empty() || line.starts_with("Disassembly of ")) return;
  if (line.ends_with(">:")) {
    ++next_.symbol;
  } else if (line.ends_with(':')) {
    take_function(line.substr(0, line.size() - 1));
  } else if (!take_instruction(line)) {
    take_place(line);
  }
}

// "row_of<float>(int) const [clone .isra.0]"; of C, and of what has no parameters, "row_of()".
void CodeListingReader::take_function(std::string_view name) {
  name = name.substr(0, name.find(" [clone "));
  if (name.ends_with("()")) name.remove_suffix(2);
  next_.function = number_of(name, functions_, listing_.functions);
  next_.line = 0;
}

// "    1139:	push   %rbp"
bool CodeListingReader::take_instruction(std::string_view line) {
  if (line.front() != ' ') return false;
  line = trimmed(line);
  if (!take_number(line, next_.offset, 16) || !line.starts_with(":\t")) return false;
  if (listing_.functions.empty()) next_.function = number_of("", functions_, listing_.functions);
  if (listing_.files.empty()) next_.file = number_of("", files_, listing_.files);
  next_.reports = calls_recorder(line.substr(2));
  listing_.instructions.push_back(next_);
  return true;
}

// "/src/kernel.cc:17 (discriminator 2)"
bool CodeListingReader::take_place(std::string_view line) {
  const std::size_t note = line.rfind(" (discriminator");
  if (note != std::string_view::npos) line = line.substr(0, note);
  const std::size_t colon = line.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view number = line.substr(colon + 1);
  std::uint32_t at = 0;
  if (!take_number(number, at, 10) || !number.empty()) return false;
  const std::string file = std::filesystem::path(line.substr(0, colon)).lexically_normal().string();
  next_.file = number_of(file, files_, listing_.files);
  next_.line = at;
  return true;
}

CodeListing CodeListingReader::finish() {
  std::stable_sort(listing_.instructions.begin(), listing_.instructions.end(),
                   [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return std::move(listing_);
}

Result<CodeListing> list_code(const std::string& module) {
  const std::string command = "LC_ALL=C objdump -d -l -C --no-show-raw-insn " + shell_word(module);
  QCONFORM_ASSIGN(const auto process, ChildProcess::start(command, ChildProcess::Output::piped));
  CodeListingReader reader;
  std::string received;
  while (!process->output_closed()) {
    std::string_view nothing;
    process->exchange(nothing, received, std::chrono::seconds(1));
    take_lines(received, [&](std::string_view line) { reader.take(line); });
  }
  while (!process->status()) {
    std::string_view nothing;
    process->exchange(nothing, received, std::chrono::milliseconds(10));
  }
  const int status = *process->status();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotFound) {
    return fail(module, "objdump is missing, which lists its lines (apt-get install binutils)");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail(module, "objdump failed: " + process->log());
  return reader.finish();
}

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
      FileCode& code =
          source.files.emplace_back(FileCode{file, lines.size(), executed_of(lines), not_executed(lines), {}});
      for (const auto& [line, is_executed] : lines) code.with_code.push_back(line);
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

std::map<std::uint32_t, std::vector<CodeLine>> CodeMap::lines_of(const CodeCoverage& code,
                                                                 const std::set<std::uint32_t>& edges) const {
  std::map<std::pair<std::uint32_t, std::size_t>, std::vector<std::uint32_t>> by_block;
  for (const std::uint32_t edge : edges) {
    const CodePlace place = code.place(edge);
    if (place.module >= modules_.size()) continue;
    by_block[{place.module, begin_of(modules_[place.module].listing, code.form(), place)}].push_back(edge);
  }
  std::map<std::uint32_t, std::vector<CodeLine>> lines;
  for (std::uint32_t m = 0; m < modules_.size(); ++m) {
    const CodeListing& listing = modules_[m].listing;
    for (std::size_t i = 0; i < listing.instructions.size(); ++i) {
      const CodeListing::Instruction& instruction = listing.instructions[i];
      const auto block = by_block.find({m, modules_[m].block[i]});
      if (block == by_block.end() || instruction.line == 0 || is_of_system(listing.files[instruction.file])) continue;
      for (const std::uint32_t edge : block->second) {
        lines[edge].push_back(
            {listing.files[instruction.file], instruction.line, listing.functions[instruction.function]});
      }
    }
  }
  return lines;
}

}  // namespace qconform
