#include "harness/suites/sweep/covering_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/base/bytes.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/core/version.h"
#include "harness/suites/cache.h"

namespace qconform::sweep {
namespace {

namespace fs = std::filesystem;

// Changes where the rows of a model do, or the form of the files.
constexpr std::uint64_t kRevision = 4;
constexpr std::int64_t kLargestFile = std::int64_t{64} << 20;
constexpr std::string_view kClassDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
static_assert(kClassDigits.size() == kMaxClasses);

// Everything that rows follow from: classes, and which tuples each constraint allows.
std::string key_of(const Model& model, std::size_t strength) {
  Digest digest;
  digest.add(std::string_view(qconform::kVersion));
  digest.add(kRevision);
  digest.add(std::uint64_t{strength});
  digest.add(std::string_view(model.name));
  for (const Parameter& parameter : model.parameters) {
    digest.add(std::string_view(parameter.name));
    digest.add(static_cast<std::uint64_t>(parameter.role));
    for (const std::string& name : parameter.classes) digest.add(std::string_view(name));
  }
  Row row(model.parameters.size(), 0);
  for (const Constraint& constraint : model.constraints) {
    std::uint64_t word = 1;
    for (bool more = true; more;) {
      word = word << 1 | (constraint.holds(row) ? 1U : 0U);
      if (word >> 63 != 0) digest.add(std::exchange(word, 1));
      more = false;
      for (const std::size_t p : constraint.scope) {
        if (++row[p] < model.parameters[p].classes.size()) {
          more = true;
          break;
        }
        row[p] = 0;
      }
    }
    digest.add(word);
    for (const std::size_t p : constraint.scope) digest.add(std::uint64_t{p});
  }
  return fmt::format("{:016x}", digest.value());
}

std::string digest_line(std::string_view text) {
  Digest digest;
  digest.add(text);
  return fmt::format("digest {:016x}\n", digest.value());
}

// The first line has the key, the second the counts, the third what each constraint excludes; then a line for each row,
// a digit for each class; last a digest of all before.
std::string text_of(const SolvedArray& array, const std::string& key) {
  const CombinationCoverage& coverage = array.proof.coverage;
  std::string text = fmt::format("qconform solved array {}\n{} {} {} {} {}\n", key, array.rows.size(), coverage.covered,
                                 coverage.feasible, coverage.infeasible, array.proof.excluded_by_several);
  for (const std::uint64_t count : array.proof.excluded_by) text += fmt::format("{} ", count);
  text += "\n";
  for (const Row& row : array.rows) {
    for (const std::uint8_t chosen : row) text += kClassDigits[chosen];
    text += "\n";
  }
  return text + digest_line(text);
}

// Numbers with a space behind or between; nothing where there is anything else.
std::optional<std::vector<std::uint64_t>> numbers_in(std::string_view line) {
  std::vector<std::uint64_t> numbers;
  while (!line.empty()) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc()) return std::nullopt;
    numbers.push_back(number);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (line.starts_with(' ')) line.remove_prefix(1);
  }
  return numbers;
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<Row> row_in(std::string_view line, const Model& model) {
  if (line.size() != model.parameters.size()) return std::nullopt;
  Row row;
  for (std::size_t p = 0; p < line.size(); ++p) {
    const std::size_t chosen = kClassDigits.find(line[p]);
    if (chosen >= model.parameters[p].classes.size()) return std::nullopt;
    row.push_back(static_cast<std::uint8_t>(chosen));
  }
  return model.allows(row) ? std::optional(std::move(row)) : std::nullopt;
}

// Nothing where the text is not what text_of() makes of an array of the model.
std::optional<SolvedArray> array_in(std::string_view text, const Model& model, std::size_t strength,
                                    const std::string& key) {
  const std::size_t last = text.rfind("digest ");
  if (last == std::string_view::npos || text.substr(last) != digest_line(text.substr(0, last))) return std::nullopt;
  text = text.substr(0, last);
  if (take_line(text) != "qconform solved array " + key) return std::nullopt;
  const auto counts = numbers_in(take_line(text));
  const auto excluded = numbers_in(take_line(text));
  if (!counts || counts->size() != 5 || !excluded) return std::nullopt;
  SolvedArray array;
  while (!text.empty()) {
    auto row = row_in(take_line(text), model);
    if (!row) return std::nullopt;
    array.rows.push_back(std::move(*row));
  }
  if (array.rows.size() != (*counts)[0]) return std::nullopt;
  array.proof.coverage = coverage_of(model, combinations_of(model, strength), {});  // of the rows it would take long
  array.proof.coverage.cases = array.rows.size();
  array.proof.coverage.covered = (*counts)[1];
  array.proof.coverage.feasible = (*counts)[2];
  array.proof.coverage.infeasible = (*counts)[3];
  array.proof.excluded_by_several = (*counts)[4];
  array.proof.excluded_by = *excluded;
  return array;
}

SolvedArray solve(const Model& model, std::size_t strength) {
  const Combinations combinations = combinations_of(model, strength);
  SolvedArray array{covering_array(model, combinations), {}};
  array.proof = prove_coverage(model, combinations, array.rows);
  return array;
}

}  // namespace

SolvedArray solved_array(const Model& model, std::size_t strength) {
  const fs::path folder = cache::folder();
  if (folder.empty()) return solve(model, strength);
  const std::string key = key_of(model, strength);
  const fs::path file = folder / fmt::format("array-{}.txt", key);
  std::error_code ignored;
  if (fs::exists(file, ignored)) {
    const auto text = read_file(file, kLargestFile);
    if (text) {
      if (auto array = array_in(*text, model, strength, key)) return std::move(*array);
    }
    cache::note(fmt::format("{}: {}; its array is solved anew", file.string(),
                            text ? "is damaged" : "cannot be read: " + text.error().message));
  }
  SolvedArray array = solve(model, strength);
  cache::write(file, text_of(array, key), "a solved array of the sweep");
  return array;
}

}  // namespace qconform::sweep
