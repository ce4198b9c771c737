// Known discrepancies of backends: what a run may find without failing.
//
// A waiver covers only a defect that somebody has seen: it names backend and version, and its signature is
// one of three things: the cases with the very answers that were seen; what the backend computes in place of the
// right answer, which must account for every wrong element bit for bit; or findings by the names that reports give
// them. Another wrong answer is a finding. docs/formats.md describes the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/backend.h"
#include "harness/core/case.h"
#include "harness/core/profile.h"
#include "harness/core/verdict.h"
#include "harness/model/defects/defect.h"
#include "harness/report/report.h"

namespace qconform {

/// A fingerprint of an output: type, shape and elements.
[[nodiscard]] std::uint64_t digest_of(const Tensor& tensor);

/// The backend's name, "onednn@avx2" of "onednn:3.12@avx2": a waiver's range of versions says for which releases it is.
[[nodiscard]] std::string name_of_every_release(const std::string& backend);

/// "1.9.2" < "1.10"; parts between other characters than letters and digits are compared as numbers
/// where both are, else as text. Negative, zero or positive.
[[nodiscard]] int compare_versions(std::string_view a, std::string_view b);

/// A case by what it computes, and what the backend answered.
struct WaivedCase {
  std::string id;                       ///< for the reader
  std::uint64_t digest = 0;             ///< digest_of the case
  std::optional<std::uint64_t> answer;  ///< digest_of the tensor; absent where there was none, or
                                        ///< where it is another one in each run
};

/// One part of a case that a backend takes to be another than stated.
struct Replacement {
  std::string name;                    ///< name of an attribute, or of an input by ONNX's name
  std::optional<std::size_t> input;    ///< its position; nullopt for an attribute
  std::optional<std::int64_t> filled;  ///< value of all elements of an input; absent: the first element's
  std::optional<std::string> text;     ///< value of an attribute that is there; absent: there is none
};

struct Waiver {
  std::string id;
  std::vector<std::string> backends;  ///< names as on the command line, what is behind an @ too; without a version: all
  std::string first_version;          ///< oldest release that is covered
  std::string last_version;           ///< newest one: an open end would cover releases that nobody has looked at
  std::string op_type;
  VerdictKind verdict = VerdictKind::wrong;
  // The signature: either cases, or findings, or one or both of the others.
  std::vector<WaivedCase> cases;
  std::vector<std::string> findings;          ///< signatures of findings, as reports have them
  std::vector<Replacement> instead;           ///< the case that the backend computes instead
  std::vector<diagnose::DefectModel> models;  ///< defects of the computation, each with each arithmetic
  std::vector<std::string> region;    ///< features (harness/model/defects/diagnosed_case.h) that a case must have
  std::optional<std::string> detail;  ///< the verdict's whole detail, where that tells defects apart
  std::vector<std::string> cpus;      ///< cpu_level()s that it is for, and no others; empty: all
  std::string reason;
  std::string reference;               ///< place that describes the discrepancy
  std::optional<std::string> expires;  ///< "2027-01-31": the last day, UTC
};

/// A library whose discrepancies are recorded in full: what the corpus shows there is waived, and
/// nothing else.
struct RecordedLibrary {
  std::string backend;
  std::string version;
  std::string cpu;  ///< cpu_level()
};

class Waivers {
 public:
  /// Reads strictly; an error's field is the JSON path. `today` is "2026-11-30".
  [[nodiscard]] static Result<Waivers> parse(std::string_view text, std::string today);
  /// Reads a file as parse() does, as of today.
  [[nodiscard]] static Result<Waivers> load(const std::filesystem::path& file);

  /// The first waiver that covers a failing verdict, or null.
  [[nodiscard]] const Waiver* covering(const BackendInfo& backend, const Case& test_case, const Outcome& outcome,
                                       const Verdict& verdict, const Policy& policy) const;
  /// Whether a waiver of findings may cover a failing verdict: that is known once the failures have names.
  [[nodiscard]] bool may_cover(const BackendInfo& backend, const Case& test_case, const Verdict& verdict) const;
  /// Those of a backend at its version on this CPU that have not expired.
  [[nodiscard]] std::vector<const Waiver*> of(const BackendInfo& backend) const;

  /// The waivers that speak of a finding of a backend, expired or not: by its waiver's id, where a run has
  /// waived it; else those of defect models that, by the report alone, account for all of it: explained, with
  /// every failing case examined, and nowhere outside of the waiver's region.
  [[nodiscard]] std::vector<const Waiver*> speaking_of(const BackendInfo& backend, const Finding& finding) const;
  [[nodiscard]] bool is_expired(const Waiver& waiver) const { return waiver.expires && *waiver.expires < today_; }

  [[nodiscard]] const std::vector<Waiver>& all() const { return waivers_; }
  [[nodiscard]] const std::vector<RecordedLibrary>& recorded() const { return recorded_; }

 private:
  [[nodiscard]] static bool is_of(const Waiver& waiver, const BackendInfo& backend);
  [[nodiscard]] bool applies(const Waiver& waiver, const BackendInfo& backend) const;

  std::vector<Waiver> waivers_;
  std::vector<RecordedLibrary> recorded_;
  std::string today_;
};

/// How many failing cases of a finding lack one of a region's conditions.
struct RegionCheck {
  std::uint64_t outside = 0;
  std::uint64_t known = 0;  ///< of how many cases that is known
};
using CasesOutside = std::function<RegionCheck(const Finding&, const std::vector<std::string>& conditions)>;

/// Notes that a waiver covers no finding.
inline constexpr std::string_view kWaivesNothing = "waives nothing here";

/// Waives the findings of a report that a waiver names, if none of their cases that are known lies outside of its
/// region, and counts their cases as waived; findings of relations never. Notes what every waiver did that is for one
/// of the backends and an operator that it was asked for: Report::waivers. Findings that come up later are waived by
/// another call. `outside` may be empty: then no waiver with a region applies.
void waive_findings(const Waivers& waivers, const CasesOutside& outside, Report& report);

/// Whether a signature says what is wrong: "unexplained:everywhere" and a verdict alone do not, and every other defect
/// may have the same.
[[nodiscard]] bool names_a_cause(std::string_view signature);

/// Waivers for findings of a run, without reasons.
struct DraftedWaivers {
  std::string text;                   ///< a file, which is not read until somebody adds the reasons
  std::vector<std::string> left_out;  ///< ids of findings that neither a cause nor conditions tell from others
};
/// Drafts a waiver for each finding that none covers, by its name and conditions, for every seed.
[[nodiscard]] DraftedWaivers draft_waivers(const Report& report);

/// Drafts waivers for the failures of a run, with pinned answers and without reasons, for the very cases of the run.
class PinnedDraft {
 public:
  void add(const BackendInfo& backend, const Case& test_case, const Outcome& outcome, const Verdict& verdict);
  [[nodiscard]] std::string text() const;

 private:
  struct DraftedWaiver {
    BackendInfo backend;
    std::string op_type;
    VerdictKind verdict;
    std::vector<WaivedCase> cases;
  };
  std::vector<DraftedWaiver> entries_;
};

/// The waivers that come with qconform, beside the corpus.
[[nodiscard]] std::filesystem::path waivers_file();

}  // namespace qconform
