#include "harness/campaign/tally_json.h"

#include <nlohmann/json.hpp>

#include "harness/campaign/course_json.h"

namespace qconform::campaign {
namespace {

using nlohmann::json;

constexpr std::size_t kWord = 64;

json words_of(const diagnose::FeatureSet& features) {
  json words = json::array();
  const diagnose::FeatureSet mask(~std::uint64_t{0});
  for (std::size_t at = 0; at < features.size(); at += kWord) {
    words.push_back(std::uint64_t{((features >> at) & mask).to_ullong()});
  }
  return words;
}

diagnose::FeatureSet features_from(const json& entry) {
  diagnose::FeatureSet features;
  for (std::size_t i = entry.size() - 1; i >= 1; --i) {
    features <<= kWord;
    features |= diagnose::FeatureSet(entry.at(i).get<std::uint64_t>());
  }
  return features;
}

// [[hash, word, word, word], ...]
json sample_json(const Sample& sample) {
  json list = json::array();
  for (const auto& [hash, features] : sample.entries()) {
    json entry = words_of(features);
    entry.insert(entry.begin(), hash);
    list.push_back(std::move(entry));
  }
  return list;
}

void read_sample(const json& list, Sample& sample) {
  for (const json& entry : list) sample.add(entry.at(0).get<std::uint64_t>(), features_from(entry));
}

json tiers_json(const TierTally& tiers) {
  json common = json::array();
  for (const reference::Tier tier : reference::kAllTiers) common.push_back(tiers.common.contains(tier));
  return {tiers.by_tier, tiers.none, std::move(common)};
}

TierTally tiers_from(const json& value) {
  TierTally tiers;
  tiers.by_tier = value.at(0).get<decltype(tiers.by_tier)>();
  tiers.none = value.at(1).get<std::uint64_t>();
  tiers.common = {};
  for (const reference::Tier tier : reference::kAllTiers) {
    if (value.at(2).at(static_cast<std::size_t>(tier)).get<bool>()) tiers.common.insert(tier);
  }
  return tiers;
}

json operator_json(const OperatorResult& result) {
  return {{"verdicts", result.verdicts},
          {"waived", result.waived},
          {"elements", result.elements},
          {"wrong", result.wrong_elements},
          {"tiers", tiers_json(result.tiers)},
          {"errors", {result.errors.low, result.errors.high, result.errors.incomparable}},
          {"unsupported", result.unsupported_reasons},
          {"mistrusted", result.mistrusted_reasons}};
}

OperatorResult operator_from(const json& value) {
  OperatorResult result;
  result.verdicts = value.at("verdicts").get<VerdictCounts>();
  result.waived = value.at("waived").get<VerdictCounts>();
  result.elements = value.at("elements").get<std::uint64_t>();
  result.wrong_elements = value.at("wrong").get<std::uint64_t>();
  result.tiers = tiers_from(value.at("tiers"));
  const json& errors = value.at("errors");
  result.errors = {errors.at(0).get<decltype(ErrorTally::low)>(), errors.at(1).get<decltype(ErrorTally::high)>(),
                   errors.at(2).get<std::uint64_t>()};
  result.unsupported_reasons = value.at("unsupported").get<std::map<std::string, std::uint64_t>>();
  result.mistrusted_reasons = value.at("mistrusted").get<std::map<std::string, std::uint64_t>>();
  return result;
}

json element_json(const ElementReport& element) {
  return {element.index, element.got, element.admissible, element.exact, element.distance};
}

ElementReport element_from(const json& value) {
  return {value.at(0).get<std::vector<std::int64_t>>(), value.at(1).get<std::string>(), value.at(2).get<std::string>(),
          value.at(3).get<std::string>(), value.at(4).get<double>()};
}

json backend_json(const BackendResult& backend) {
  json operators = json::object();
  for (const auto& [op_type, result] : backend.operators) operators[op_type] = operator_json(result);
  json worst = json::array();
  for (const auto& [case_id, element] : backend.worst) worst.push_back({case_id, element_json(element)});
  return {{"seconds", backend.seconds}, {"operators", std::move(operators)}, {"worst", std::move(worst)}};
}

BackendResult backend_from(const json& value) {
  BackendResult backend;
  backend.seconds = value.at("seconds").get<double>();
  for (const auto& [op_type, result] : value.at("operators").items()) {
    backend.operators[op_type] = operator_from(result);
  }
  for (const json& worst : value.at("worst")) {
    backend.worst.push_back({worst.at(0).get<std::string>(), element_from(worst.at(1))});
  }
  return backend;
}

json failing_json(const FailingCase& failing) {
  const Verdict& verdict = failing.verdict;
  return {{"bytes", failing.bytes},
          {"index", failing.index},
          {"kind", static_cast<int>(verdict.kind)},
          {"detail", verdict.detail},
          {"rule", verdict.rule},
          {"log", verdict.log},
          {"elements", verdict.elements},
          {"wrong", verdict.wrong_elements},
          {"tiers", tiers_json(verdict.tiers)},
          {"worst", verdict.worst ? element_json(*verdict.worst) : json(nullptr)}};
}

FailingCase failing_from(const json& value) {
  FailingCase failing{value.at("bytes").get<std::uint64_t>(), value.at("index").get<std::uint64_t>(), {}};
  Verdict& verdict = failing.verdict;
  verdict.kind = verdict_numbered(value.at("kind").get<int>());
  verdict.detail = value.at("detail").get<std::string>();
  verdict.rule = value.at("rule").get<std::string>();
  verdict.log = value.at("log").get<std::string>();
  verdict.elements = value.at("elements").get<std::uint64_t>();
  verdict.wrong_elements = value.at("wrong").get<std::uint64_t>();
  verdict.tiers = tiers_from(value.at("tiers"));
  if (!value.at("worst").is_null()) verdict.worst = element_from(value.at("worst"));
  return failing;
}

json failures_json(const FailureKey& key, const Failures& found) {
  return {{"backend", key.backend},
          {"operator", key.op_type},
          {"symptom", key.symptom},
          {"waiver", key.waiver},
          {"cases", found.cases},
          {"examined", found.examined},
          {"first", found.first_block},
          {"smallest", failing_json(found.smallest)},
          {"sample", sample_json(found.sample)}};
}

void read_failures(const json& value, std::map<FailureKey, Failures>& failures) {
  const FailureKey key{value.at("backend").get<std::size_t>(), value.at("operator").get<std::string>(),
                       value.at("symptom").get<std::string>(), value.at("waiver").get<std::string>()};
  Failures& found = failures[key];
  found.cases = value.at("cases").get<std::uint64_t>();
  found.examined = value.at("examined").get<std::uint64_t>();
  found.first_block = value.at("first").get<std::uint64_t>();
  found.smallest = failing_from(value.at("smallest"));
  read_sample(value.at("sample"), found.sample);
}

json suite_json(const SuiteResult& suite) {
  return {{"cases", suite.cases},           {"digest", suite.digest},      {"expectations", suite.expectations},
          {"skipped", suite.skipped},       {"disputed", suite.disputed},  {"elements", suite.elements},
          {"exact_ties", suite.exact_ties}, {"near_ties", suite.near_ties}};
}

SuiteResult suite_from(const json& value) {
  SuiteResult suite;
  suite.cases = value.at("cases").get<std::uint64_t>();
  suite.digest = value.at("digest").get<std::uint64_t>();
  suite.expectations = value.at("expectations").get<std::map<std::string, std::uint64_t>>();
  suite.skipped = value.at("skipped").get<std::map<std::string, std::uint64_t>>();
  suite.disputed = value.at("disputed").get<std::vector<std::string>>();
  suite.elements = value.at("elements").get<std::uint64_t>();
  suite.exact_ties = value.at("exact_ties").get<std::uint64_t>();
  suite.near_ties = value.at("near_ties").get<std::uint64_t>();
  return suite;
}

// Hazards that were reached, by their position in the list: [[position, cases, elements], ...]
json tallies_json(const HazardCoverage::Tallies& tallies) {
  json list = json::array();
  for (std::size_t i = 0; i < kHazards; ++i) {
    if (tallies[i].cases > 0) list.push_back({i, tallies[i].cases, tallies[i].elements});
  }
  return list;
}

HazardCoverage::Tallies tallies_from(const json& list) {
  HazardCoverage::Tallies tallies{};
  for (const json& entry : list) {
    tallies.at(entry.at(0).get<std::size_t>()) = {entry.at(1).get<std::uint64_t>(), entry.at(2).get<std::uint64_t>()};
  }
  return tallies;
}

json hazards_json(const Tally& tally) {
  json hazards = json::object();
  for (const auto& [op_type, by_types] : tally.hazards) {
    json& of_operator = hazards[op_type] = json::object();
    for (const auto& [types, tallies] : by_types) of_operator[types] = tallies_json(tallies);
  }
  return hazards;
}

json times_json(const StageTimes& times) {
  return {times.generate, times.reference, times.survey, times.backend, times.judge, times.diagnose, times.total};
}

StageTimes times_from(const json& value) {
  const auto seconds = value.get<std::array<double, 7>>();
  return {seconds[0], seconds[1], seconds[2], seconds[3], seconds[4], seconds[5], seconds[6]};
}

Tally tally_from(const json& value) {
  Tally tally;
  tally.suite = suite_from(value.at("suite"));
  for (const auto& [op_type, by_types] : value.at("hazards").items()) {
    for (const auto& [types, tallies] : by_types.items()) tally.hazards[op_type][types] = tallies_from(tallies);
  }
  for (const json& backend : value.at("backends")) tally.backends.push_back(backend_from(backend));
  for (const json& failures : value.at("failures")) read_failures(failures, tally.failures);
  for (const json& passing : value.at("passing")) {
    const std::pair key(passing.at(0).get<std::size_t>(), passing.at(1).get<std::string>());
    read_sample(passing.at(2), tally.passing.try_emplace(key, Tally::kSampled).first->second);
  }
  tally.course = course_from(value.at("course"));
  tally.rows = case_rows_from(value.at("rows"));
  tally.times = times_from(value.at("times"));
  return tally;
}

}  // namespace

std::string encode_tally(const Tally& tally) {
  json backends = json::array();
  for (const BackendResult& backend : tally.backends) backends.push_back(backend_json(backend));
  json failures = json::array();
  for (const auto& [key, found] : tally.failures) failures.push_back(failures_json(key, found));
  json passing = json::array();
  for (const auto& [key, sample] : tally.passing) passing.push_back({key.first, key.second, sample_json(sample)});
  std::string bytes;
  json::to_cbor(json{{"suite", suite_json(tally.suite)},
                     {"hazards", hazards_json(tally)},
                     {"backends", std::move(backends)},
                     {"failures", std::move(failures)},
                     {"passing", std::move(passing)},
                     {"course", course_json(tally.course)},
                     {"rows", case_rows_json(tally.rows)},
                     {"times", times_json(tally.times)}},
                bytes);
  return bytes;
}

Result<Tally> decode_tally(std::string_view bytes) {
  try {
    return tally_from(json::from_cbor(bytes));
  } catch (const std::exception& error) {
    return fail("tally", error.what());
  }
}

}  // namespace qconform::campaign
