#include "reports/render/replay_json.h"

#include <nlohmann/json.hpp>

#include "harness/forms/archive/json_archives.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/model/text.h"

namespace qconform::report {
namespace {

struct ReplayedBackend {
  QC_DESCRIBED();
  QC_FIELD(std::string, backend, {}, "backend");
  Verdict verdict;
  QC_PART("verdict", verdict.kind);
  QC_PART("detail", verdict.detail);
  QC_PART("rule", verdict.rule, .presence = Presence::omitted);
  QC_PART("elements", verdict.elements);
  QC_PART("wrong_elements", verdict.wrong_elements);
  QC_PART("tiers", verdict.tiers);
  QC_PART("log", verdict.log, .presence = Presence::omitted);
  QC_PART("worst", verdict.worst);
};

struct Replay {
  QC_DESCRIBED();
  QC_FIELD(std::string, test_case, {}, "case");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, expectation, {}, "expectation");
  QC_FIELD(std::string, remark, {}, "remark");
  QC_FIELD(std::vector<ReplayedBackend>, results, {}, "results");
};

struct Reduction {
  QC_DESCRIBED();
  QC_FIELD(std::string, name, {}, "reduction");
  QC_FIELD(std::uint64_t, steps, {}, "steps");
};

struct Shrunk {
  QC_DESCRIBED();
  QC_FIELD(std::string, test_case, {}, "case");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(std::string, ending, {}, "ending");
  QC_FIELD(std::uint64_t, runs, {}, "runs");
  QC_FIELD(std::uint64_t, steps, {}, "steps");
  QC_FIELD(double, seconds, {}, "seconds", .form = Form::seconds);
  QC_FIELD(std::vector<Reduction>, reduced, {}, "reduced");
  QC_FIELD(std::string, before, {}, "before");
  QC_FIELD(std::string, after, {}, "after");
  Verdict verdict;
  QC_PART("verdict", verdict.kind);
  QC_PART("detail", verdict.detail);
  QC_PART("worst", verdict.worst);
  QC_FIELD(std::string, file, {}, "file", .presence = Presence::omitted);
  QC_FIELD(std::string, replay, {}, "replay", .presence = Presence::omitted);
};

template <typename T>
std::string text_of(const T& value) {
  return write_document(description_of(value)).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_json(const Case& test_case, Expectation expectation, const std::string& remark,
                    const std::vector<Replayed>& results) {
  Replay replay{test_case.id, test_case.node().op_type, std::string(name_of(expectation)), remark, {}};
  for (const auto& [backend, verdict] : results) replay.results.push_back({backend, verdict});
  return text_of(replay);
}

std::string to_json(const shrink::Result& result, const Case& original, const std::string& file,
                    const std::string& replay) {
  Shrunk shrunk{.test_case = original.id,
                .op_type = original.node().op_type,
                .ending = std::string(name_of(result.ending)),
                .runs = result.runs,
                .steps = result.steps,
                .seconds = result.seconds,
                .before = summary_of(original),
                .after = summary_of(result.smallest),
                .verdict = result.verdict,
                .file = file,
                .replay = replay};
  for (const auto& [name, count] : result.reduced) shrunk.reduced.push_back({std::string(name), count});
  return text_of(shrunk);
}

}  // namespace qconform::report
