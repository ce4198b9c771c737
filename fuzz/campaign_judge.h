// The fuzz target `differential` as the engine of a campaign (qconform fuzz --engine libfuzzer): judges what the
// campaign judges, and keeps inputs that fail in place of ending at the first one.
//
// Its options begin with two dashes, which libFuzzer passes over and hands to the processes that it forks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/campaign/block_run.h"
#include "harness/core/backend.h"
#include "harness/core/profile.h"
#include "harness/engine/execute.h"

namespace qconform::fuzz {

struct CampaignFlags {
  bool judges = false;                  ///< whether there is a --backend
  std::vector<std::string> backends;    ///< --backend=NAME, may be repeated; "none" is no backend
  std::string profile = "conformance";  ///< --profile=NAME, a name or a file
  std::string overflow = "wrap";        ///< --overflow=wrap|permissive
  std::filesystem::path failing;  ///< --failing=FOLDER: where failing inputs are kept; none: the first one ends it
  bool describe = false;          ///< --describe: print what this program is, and end

  /// Those of the command line; what does not begin with two dashes is not looked at.
  [[nodiscard]] static CampaignFlags of(int argc, char** argv);
};

/// "qconform-fuzz-target differential libfuzzer 0.1.0 abcdef0": name, engine ("none" in a reproducer), version, commit.
[[nodiscard]] std::string description(bool has_engine);

class CampaignJudge {
 public:
  /// Ends the program with a message where the flags do not make sense.
  explicit CampaignJudge(const CampaignFlags& flags);

  /// Judges the case of an input on every backend; a failure is kept or, without a folder, told, and aborts.
  void judge(std::string_view bytes);

 private:
  struct KeptInput {
    std::uintmax_t bytes = 0;
    std::filesystem::path file;
  };

  void take_failure(std::size_t backend, const Case& test_case, const Expected& expected, const Outcome& outcome,
                    const Verdict& verdict, std::string_view bytes);
  void find_kept();
  void keep(const std::string& kind, std::string_view bytes);

  Policy policy_;
  std::vector<std::unique_ptr<Backend>> backends_;
  std::filesystem::path failing_;
  GuardedOutput output_;
  campaign::BlockDiagnosis diagnosis_{0};
  std::map<std::string, KeptInput> kept_;  ///< by the fingerprint of the kind of failure
};

}  // namespace qconform::fuzz
