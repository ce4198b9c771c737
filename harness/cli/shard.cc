#include "harness/cli/shard.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace qconform::cli {
namespace {

using campaign::Shard;

constexpr std::uint64_t kMostShards = 10000;

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

// `otherwise` where the variable is not set.
Result<std::uint64_t> number_of(const char* name, std::optional<std::uint64_t> otherwise) {
  const char* text = variable(name);
  if (text == nullptr && otherwise) return *otherwise;
  if (text == nullptr) return fail(name, "is not set, expected a number");
  if (const auto number = number_in(text)) return *number;
  return fail(name, fmt::format("expected a number, got \"{}\"", text));
}

Result<Shard> checked(const std::string& field, std::uint64_t number, std::uint64_t of) {
  if (number >= 1 && number <= of && of <= kMostShards) return Shard{number, of};
  return fail(field, fmt::format("expected shard 1 to N of N up to {}, got {} of {}", kMostShards, number, of));
}

Result<Shard> named_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto number = number_in(std::string_view(text).substr(0, slash));
  const auto of = slash == std::string::npos ? std::nullopt : number_in(std::string_view(text).substr(slash + 1));
  if (!number || !of) return fail("--shard", fmt::format("expected I/N, such as 3/16, got \"{}\"", text));
  return checked("--shard", *number, *of);
}

// Task numbers begin where the array says, and may go in steps.
Result<Shard> slurm_shard() {
  QCONFORM_ASSIGN(const auto id, number_of("SLURM_ARRAY_TASK_ID", std::nullopt));
  QCONFORM_ASSIGN(const auto count, number_of("SLURM_ARRAY_TASK_COUNT", std::nullopt));
  QCONFORM_ASSIGN(const auto first, number_of("SLURM_ARRAY_TASK_MIN", 0));
  QCONFORM_ASSIGN(const auto step, number_of("SLURM_ARRAY_TASK_STEP", 1));
  if (step == 0 || id < first) {
    return fail("SLURM_ARRAY_TASK_ID", fmt::format("{} is not in an array from {} in steps of {}", id, first, step));
  }
  return checked("SLURM_ARRAY_TASK_ID", (id - first) / step + 1, count);
}

Result<Shard> kubernetes_shard(std::uint64_t count) {
  QCONFORM_ASSIGN(const auto index, number_of("JOB_COMPLETION_INDEX", std::nullopt));
  QCONFORM_ASSIGN(const auto of, count > 0 ? Result<std::uint64_t>(count) : number_of("JOB_COMPLETIONS", 0));
  if (of == 0) {
    return fail("--shard-count", fmt::format("JOB_COMPLETION_INDEX is {}, and neither this option nor JOB_COMPLETIONS "
                                             "says how many shards there are; --shard 1/1 for all of it",
                                             index));
  }
  return checked("JOB_COMPLETION_INDEX", index + 1, of);
}

}  // namespace

void add_shard_options(CLI::App& command, ShardOptions& options) {
  command.add_option("--shard", options.shard,
                     "Part of the campaign to run, I/N with I from 1 on (default: from SLURM_ARRAY_TASK_ID or "
                     "JOB_COMPLETION_INDEX where these are set, else all of it)");
  command.add_option("--shard-count", options.count,
                     "How many shards there are, with JOB_COMPLETION_INDEX (default: JOB_COMPLETIONS)");
}

Result<Shard> chosen_shard(const ShardOptions& options) {
  if (!options.shard.empty()) return named_shard(options.shard);
  if (variable("SLURM_ARRAY_TASK_ID") != nullptr) return slurm_shard();
  if (variable("JOB_COMPLETION_INDEX") != nullptr) return kubernetes_shard(options.count);
  return Shard{};
}

}  // namespace qconform::cli
