#include "fuzz/campaign_judge.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "harness/backends/select.h"
#include "harness/base/bytes.h"
#include "harness/base/file.h"
#include "harness/campaign/guided/libfuzzer.h"
#include "harness/core/version.h"
#include "harness/engine/execute.h"
#include "harness/forms/json/profile_file.h"
#include "harness/model/judge/judge.h"

namespace qconform::fuzz {
namespace {

// An input that fails in a way that is known already replaces that one where it is smaller by this factor.
constexpr double kWorthwhile = 0.9;

[[noreturn]] void refuse(const Error& error) {
  fmt::print(stderr, "fuzz target: {}\n", error.text());
  std::fflush(stderr);
  std::_Exit(2);
}

template <typename T>
T value_or_refuse(Result<T> result) {
  if (!result) refuse(result.error());
  return std::move(*result);
}

std::string fingerprint(std::string_view text) {
  Digest digest;
  digest.add(text);
  return fmt::format("{:016x}", digest.value());
}

}  // namespace

CampaignFlags CampaignFlags::of(int argc, char** argv) {
  CampaignFlags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string value(equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1));
    if (name == "--backend") flags.judges = true;
    if (name == "--backend" && value != "none") flags.backends.push_back(value);
    if (name == "--profile") flags.profile = value;
    if (name == "--overflow") flags.overflow = value;
    if (name == "--failing") flags.failing = value;
    if (name == "--describe") flags.describe = true;
  }
  return flags;
}

std::string description(bool has_engine) {
  return fmt::format("qconform-fuzz-target differential {} {} {}\n", has_engine ? "libfuzzer" : "none", kVersion,
                     kCommit);
}

CampaignJudge::CampaignJudge(const CampaignFlags& flags)
    : policy_(value_or_refuse(policy_named(flags.profile, flags.overflow))), failing_(flags.failing) {
  // In this process: the engine sees what they cover, and sanitizers what they do.
  backends_ = value_or_refuse(backend::select_all(flags.backends, arithmetic_of(policy_.profile),
                                                  {.which = backend::SandboxPolicy::Which::none, .limits = {}}));
  find_kept();
}

// Finds the inputs that other processes of the campaign have kept, before this one or at the same time.
void CampaignJudge::find_kept() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(failing_, error)) {
    const std::string name = entry.path().filename().string();
    const std::uintmax_t size = entry.file_size(error);
    if (error || entry.path().has_extension()) continue;
    KeptInput& kept = kept_[name.substr(0, name.find('-'))];
    if (kept.file.empty() || size < kept.bytes) kept = {size, entry.path()};
  }
}

void CampaignJudge::judge(std::string_view bytes) {
  const auto test_case = guided::case_of_input(bytes);
  if (!test_case) return;
  Expected expected = expect(*test_case, policy_);
  assess(*test_case, expected);
  for (std::size_t i = 0; i < backends_.size(); ++i) {
    const Outcome outcome = execute(*backends_[i], *test_case, output_);
    const Verdict verdict = qconform::judge(expected, outcome);
    if (is_failure(verdict.kind)) take_failure(i, *test_case, expected, outcome, verdict, bytes);
  }
}

void CampaignJudge::take_failure(std::size_t backend, const Case& test_case, const Expected& expected,
                                 const Outcome& outcome, const Verdict& verdict, std::string_view bytes) {
  const std::string name = backends_[backend]->info().name;
  if (failing_.empty()) {
    fmt::print(stderr, "\n{}: {}: {}\n", name, name_of(verdict.kind), verdict.detail);
    std::fflush(stderr);
    std::abort();
  }
  std::string symptom = diagnosis_.failed(backend, test_case, expected, outcome, verdict);
  if (symptom == kUndetermined) return;
  if (symptom.empty()) symptom = std::string(name_of(verdict.kind)) + ":" + verdict.rule;
  keep(fmt::format("{} {} {}", name, test_case.subject(), symptom), bytes);
}

// Two processes that do this at once may leave two inputs of one kind.
void CampaignJudge::keep(const std::string& kind, std::string_view bytes) {
  const std::string mark = fingerprint(kind);
  KeptInput& kept = kept_[mark];
  const bool is_new = kept.file.empty();
  if (!is_new && static_cast<double>(bytes.size()) >= kWorthwhile * static_cast<double>(kept.bytes)) return;
  const KeptInput before = std::exchange(kept, {bytes.size(), failing_ / (mark + "-" + fingerprint(bytes))});
  if (auto written = write_file(kept.file, bytes); !written) {
    fmt::print(stderr, "fuzz target: {}\n", written.error().text());
    kept = before;
    return;
  }
  std::error_code ignored;
  if (!is_new && before.file != kept.file) std::filesystem::remove(before.file, ignored);
}

}  // namespace qconform::fuzz
