#include "harness/engine/findings.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/text.h"
#include "harness/engine/execute.h"
#include "harness/model/judge/judge.h"
#include "harness/model/text.h"
#include "harness/operators/convolution/convolution.h"
#include "harness/operators/linear/linear.h"

namespace qconform {
namespace {

bool has_tag(const Case& test_case, std::string_view tag) {
  return std::find(test_case.tags.begin(), test_case.tags.end(), tag) != test_case.tags.end();
}

// Whether `other` is the better example: with the nodes before it after which it fails, where it does not fail alone;
// as its suite made it, so that its note is true of it; or smaller.
bool is_better_example(const Case& other, const Case& example) {
  if (other.before.size() != example.before.size()) {
    return example.before.empty() || (!other.before.empty() && other.before.size() < example.before.size());
  }
  const bool is_derived = has_tag(other, kAnotherXTag);
  if (is_derived != has_tag(example, kAnotherXTag)) return !is_derived;
  return input_bytes(other) < input_bytes(example);
}

// Bounds on a representative case: an element map shows an output of this size whole.
constexpr std::uint64_t kMostElements = 4096;
constexpr std::size_t kMostInputBytes = std::size_t{64} << 10;

void note_representative(const Case& test_case, const Verdict& verdict, const std::optional<DefectAnswer>& answer,
                         std::optional<RepresentativeCase>& representative) {
  if (verdict.kind != VerdictKind::wrong || verdict.elements > kMostElements) return;
  if (verdict.elements < 2 || input_bytes(test_case) > kMostInputBytes) return;
  RepresentativeCase candidate{.right_elements = verdict.elements - verdict.wrong_elements,
                               .wrong_elements = verdict.wrong_elements};
  if (representative && !candidate.is_clearer_than(*representative)) return;
  candidate.test_case = test_case;
  if (answer) candidate.test_case.defect = answer;
  representative = std::move(candidate);
}

// Conditions and a place that were learnt from some of the cases are not told of the others.
void unite(Diagnosis& diagnosis, const Diagnosis& later) {
  diagnosis.examined += later.examined;
  if (diagnosis.where != later.where) {
    diagnosis.where = kNoPlace;
    diagnosis.wrong_there = diagnosis.right_there = diagnosis.right_elsewhere = 0;
  }
  if (diagnosis.thresholds != later.thresholds) diagnosis.thresholds.clear();
  if (diagnosis.behaves != later.behaves) diagnosis.behaves.clear();
  if (diagnosis.when == later.when) return;
  diagnosis.when.clear();
  diagnosis.when_elements = 0;
  diagnosis.when_shown = 0;
  diagnosis.failing = diagnosis.passing = diagnosis.passing_inside = 0;
  diagnosis.precision = diagnosis.recall = 0;
}

// No case counts for both, so that the ends add up; what is left may have been counted twice, which join_findings()
// bounds.
void unite_counts(Finding& finding, const Finding& later) {
  if (finding.between || later.between) {
    const CasesBetween own = finding.between.value_or(CasesBetween{finding.cases, finding.cases});
    const CasesBetween more = later.between.value_or(CasesBetween{later.cases, later.cases});
    finding.between = CasesBetween{own.least + more.least, own.most + more.most};
  }
  finding.cases += later.cases;
}

// Keeps the earlier finding, with the smaller case of the two.
void unite(Finding& finding, Finding later) {
  const bool is_of_suite = later.met_while_shrinking.empty();
  if (is_of_suite) unite_counts(finding, later);
  if (later.first_case)
    finding.first_case = std::min(finding.first_case.value_or(*later.first_case), *later.first_case);
  if (is_of_suite && finding.diagnosis && later.diagnosis) unite(*finding.diagnosis, *later.diagnosis);
  if (is_of_suite && !finding.diagnosis && finding.signature == later.signature) finding.diagnosis = later.diagnosis;
  if (later.representative &&
      (!finding.representative || later.representative->is_clearer_than(*finding.representative))) {
    finding.representative = std::move(later.representative);
  }
  if (!is_better_example(later.example, finding.example)) return;
  finding.kind = later.kind;
  finding.verdict = std::move(later.verdict);
  finding.example = std::move(later.example);
  finding.related = std::move(later.related);
  finding.shrinking = std::move(later.shrinking);
  finding.replayed = std::move(later.replayed);
  if (finding.kind == VerdictKind::depends_on_earlier_node) finding.signature = std::move(later.signature);
}

bool has_defects(const Finding& finding) {
  return finding.diagnosis && !finding.diagnosis->defects.empty();
}

std::set<std::string_view> parts_of(std::string_view place) {
  std::set<std::string_view> parts;
  for (const std::string_view one : split(place, ", ")) {
    for (const std::string_view part : split(one, " and ")) {
      if (!part.empty()) parts.insert(part);
    }
  }
  return parts;
}

// Whether what tells nodes apart may be the same thing that a backend overlooks: what differs in more than that thing,
// or in what is not known, belongs to what differs in it alone.
bool have_one_key(const std::string& a, const std::string& b) {
  const auto one = parts_of(a);
  const auto other = parts_of(b);
  return std::includes(one.begin(), one.end(), other.begin(), other.end()) ||
         std::includes(other.begin(), other.end(), one.begin(), one.end());
}

std::vector<std::size_t> omitted_inputs(const Case& test_case) {
  std::vector<std::size_t> omitted;
  const Operator* known = operator_of(test_case);
  for (std::size_t i = 0; known != nullptr && i < known->inputs.size(); ++i) {
    if (test_case.input(i) == nullptr) omitted.push_back(i);
  }
  return omitted;
}

// Whether both follow a null pointer, in whatever function, where the same inputs are left out.
bool follow_one_null_pointer(const Finding& a, const Finding& b) {
  const auto follows = [](const Finding& finding) {
    return finding.verdict.place.find("at a null pointer") != std::string::npos;
  };
  return follows(a) && follows(b) && omitted_inputs(a.example) == omitted_inputs(b.example);
}

bool are_one(const Finding& a, const Finding& b) {
  const bool may_be = a.backend == b.backend && a.op_type == b.op_type && a.kind == b.kind && !a.waiver && !b.waiver;
  if (!may_be) return false;
  if (a.signature == b.signature || follow_one_null_pointer(a, b)) return true;
  if (a.kind == VerdictKind::depends_on_earlier_node) return have_one_key(a.verdict.place, b.verdict.place);
  return !has_defects(a) && !has_defects(b) && digest_of(a.example) == digest_of(b.example);
}

}  // namespace

std::string signature_of(const Verdict& verdict) {
  std::string signature(name_of(verdict.kind));
  for (const std::string& part : {verdict.rule, verdict.place}) signature += part.empty() ? "" : ":" + part;
  return signature;
}

std::string Findings::add(const std::string& backend, const Case& test_case, const Verdict& verdict,
                          const std::vector<Case>& related, const Waiver* waiver, std::string signature,
                          const std::optional<DefectAnswer>& answer) {
  if (signature.empty()) signature = signature_of(verdict);
  const std::size_t position =
      position_of({backend, test_case.subject(), signature, waiver == nullptr ? "" : waiver->id});
  const bool is_new = position == findings_.size();
  if (is_new) {
    Finding finding;
    finding.id = finding_id(position);
    finding.backend = backend;
    finding.op_type = test_case.subject();
    if (waiver != nullptr) finding.waiver = WaivedBy{waiver->id, waiver->reason, waiver->reference};
    finding.signature = std::move(signature);
    findings_.push_back(std::move(finding));
  }
  Finding& finding = findings_[position];
  finding.cases += is_new ? 0 : 1;
  note_representative(test_case, verdict, answer, finding.representative);
  if (!is_new && !is_better_example(test_case, finding.example)) return finding.id;
  finding.kind = verdict.kind;
  finding.verdict = verdict;
  finding.example = test_case;
  if (answer) finding.example.defect = answer;
  finding.related = related;
  return finding.id;
}

std::map<std::string, std::string> Findings::settle(const std::function<std::string(const Finding&)>& signature_of) {
  std::vector<const FindingKey*> keys(findings_.size());
  const std::map<FindingKey, std::size_t> before = std::exchange(positions_, {});
  for (const auto& [key, position] : before) keys[position] = &key;
  std::map<std::string, std::string> ids;
  std::vector<Finding> settled;
  for (std::size_t i = 0; i < findings_.size(); ++i) {
    Finding& finding = findings_[i];
    FindingKey key = *keys[i];
    if (!finding.waiver) key.signature = finding.signature = signature_of(finding);
    if (key.signature == kUndetermined) {
      ids[finding.id] = "";
      continue;
    }
    const std::size_t position = position_of(key);
    ids[finding.id] = finding_id(position);
    if (position == settled.size()) {
      finding.id = finding_id(position);
      settled.push_back(std::move(finding));
    } else {
      unite(settled[position], std::move(finding));
    }
  }
  findings_ = std::move(settled);
  return ids;
}

std::vector<Finding> Findings::take() {
  positions_.clear();
  return std::exchange(findings_, {});
}

namespace {

// A process whose heap is damaged may crash anywhere: all crashes of an operator follow from what damages it.
void gather_damaged_heaps(Report& report) {
  std::map<std::pair<std::string, std::string>, std::string> damaged;
  const auto subject = [](const Finding& finding) { return std::pair(finding.backend, finding.op_type); };
  for (const Finding& finding : report.findings) {
    if (finding.verdict.place.ends_with("a damaged heap")) damaged[subject(finding)] = finding.signature;
  }
  for (Finding& finding : report.findings) {
    const auto found = damaged.find(subject(finding));
    if (finding.kind != VerdictKind::crashed || found == damaged.end() || finding.waiver) continue;
    if (finding.signature != found->second) finding.diagnosis.reset();
    finding.signature = found->second;
  }
}

}  // namespace

void join_findings(Report& report) {
  gather_damaged_heaps(report);
  std::map<std::string, std::string> ids;
  std::vector<Finding> joined;
  for (Finding& finding : report.findings) {
    const auto at =
        std::find_if(joined.begin(), joined.end(), [&](const Finding& other) { return are_one(other, finding); });
    ids[finding.id] = finding_id(static_cast<std::size_t>(at - joined.begin()));
    if (at != joined.end()) {
      unite(*at, std::move(finding));
      continue;
    }
    finding.id = ids[finding.id];
    joined.push_back(std::move(finding));
  }
  report.findings = std::move(joined);
  for (Finding& finding : report.findings) {
    if (!finding.between) continue;
    for (const BackendResult& backend : report.backends) {
      const auto result = backend.operators.find(finding.op_type);
      if (backend.info.name == finding.backend && result != backend.operators.end())
        finding.between->most = std::min(finding.between->most, result->second.failing());
    }
  }
  for (Finding& finding : report.findings) {
    const auto id = ids.find(finding.met_while_shrinking);
    if (id != ids.end()) finding.met_while_shrinking = id->second;
  }
  if (!report.results) return;
  for (CaseResult& row : report.results->rows) {
    for (CaseResult::OfBackend& of : row.backends) {
      const auto id = ids.find(of.finding);
      if (id != ids.end()) of.finding = id->second;
    }
  }
}

void count_undetermined(Report& report) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> counted;
  for (const Finding& finding : report.findings) {
    if (finding.met_while_shrinking.empty()) counted[{finding.backend, finding.op_type}] += finding.cases;
  }
  for (BackendResult& backend : report.backends) {
    for (auto& [op_type, result] : backend.operators) {
      result.undetermined = result.failing() - std::min(result.failing(), counted[{backend.info.name, op_type}]);
    }
  }
}

namespace {

// The widest of these boxes that fits, else as much of the last as does.
Box first_that_fits(const std::vector<Box>& boxes, const std::vector<std::int64_t>& shape, std::int64_t most) {
  for (const Box& box : boxes) {
    if (box.elements() <= most) return box;
  }
  Box box = boxes.back();
  const Box part = box_around(box.extent, std::vector<std::int64_t>(shape.size(), 0), most);
  box.extent = part.extent;
  return box;
}

class ElementMapBuilder {
 public:
  ElementMapBuilder(const Case& test_case, const Expected& expected, const Tensor& got, const Verdict& verdict,
                    const ElementMapLimits& limits)
      : case_(test_case),
        expected_(expected),
        lowered_(*expected.classification.lowered),
        got_(got),
        verdict_(verdict),
        limits_(limits) {}

  ElementMap build() {
    shown_ = box_around(got_.shape, verdict_.worst->index, limits_.output);
    worst_ = {verdict_.worst->index, std::vector<std::int64_t>(got_.shape.size(), 1)};
    map_.got = cut("y", got_, shown_);
    map_.wrong_elements = verdict_.wrong_elements;
    map_.worst = verdict_.worst->index;
    map_.geometry = window_geometry_of(lowered_);
    add_elements();
    add_inputs();
    return std::move(map_);
  }

 private:
  void add_elements() {
    for (const std::int64_t index : indices_in(got_.shape, shown_)) {
      ElementView element = view(expected_, got_, index);
      map_.expected.push_back(std::move(element.expected));
      map_.exact.push_back(std::move(element.exact));
      map_.admissible.push_back(std::move(element.admissible));
      map_.wrong.push_back(!element.right);
      if (const auto* layout = layout_of(lowered_)) map_.parameter.push_back(layout->parameter_of(index));
    }
  }

  void add_inputs() {
    const Operator* known = operator_of(case_);
    for (std::size_t i = 0; i < case_.inputs.size() && i < known->inputs.size(); ++i) {
      if (const Tensor* tensor = case_.input(i)) {
        const InputSignature& signature = known->inputs[i];
        map_.inputs.push_back(cut(std::string(signature.name), *tensor, part_of(*tensor, signature.role)));
      }
    }
  }

  [[nodiscard]] Box part_of(const Tensor& tensor, InputRole role) const {
    std::vector<Box> candidates{whole(tensor.shape)};
    for (const Box& output : {shown_, worst_}) {
      if (auto part = lowered_.read_by(role, output)) candidates.push_back(std::move(*part));
    }
    return first_that_fits(candidates, tensor.shape, limits_.input);
  }

  const Case& case_;
  const Expected& expected_;
  const Lowered& lowered_;
  const Tensor& got_;
  const Verdict& verdict_;
  const ElementMapLimits& limits_;
  Box shown_;  ///< the part of the output that the map has
  Box worst_;  ///< the worst element alone
  ElementMap map_;
};

std::int64_t values_in(const std::optional<ElementMap>& map) {
  if (!map) return 0;
  std::size_t count = map->got.values.size();
  for (const TensorBox& input : map->inputs) count += input.values.size();
  return static_cast<std::int64_t>(count);
}

class ReportMaps {
 public:
  ReportMaps(const Policy& policy, const ElementMapsLimits& limits) : policy_(policy), limits_(limits) {}

  void add_to(Finding& finding, Backend& backend) {
    finding.element_map = element_map(finding.example, backend, limits_.example);
    if (finding.shrinking && finding.shrinking->steps > 0) {
      finding.shrinking->element_map = element_map(finding.shrinking->original, backend, limits_.original);
    }
    if (finding.representative)
      finding.representative->element_map = element_map(finding.representative->test_case, backend, limits_.further);
  }

 private:
  std::optional<ElementMap> element_map(const Case& test_case, Backend& backend, const ElementMapLimits& limits) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    if (passed.count() >= limits_.seconds || values_ >= limits_.values) return std::nullopt;
    auto map = element_map_of(test_case, backend, policy_, limits);
    values_ += values_in(map);
    return map;
  }

  const Policy& policy_;
  const ElementMapsLimits& limits_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::int64_t values_ = 0;
};

}  // namespace

std::optional<ElementMap> element_map_of(const Case& test_case, Backend& backend, const Policy& policy,
                                         const ElementMapLimits& limits) {
  GuardedOutput memory;
  const Outcome outcome = execute(backend, test_case, memory);
  const Tensor* const produced = output_of(outcome);
  if (produced == nullptr) return std::nullopt;
  const Expected expected = expect(test_case, policy);
  const Verdict verdict = judge(expected, outcome);
  if (verdict.kind != VerdictKind::wrong) return std::nullopt;
  return ElementMapBuilder(test_case, expected, *produced, verdict, limits).build();
}

void add_element_maps(Report& report, const std::vector<std::unique_ptr<Backend>>& backends, const Policy& policy,
                      const ElementMapsLimits& limits) {
  ReportMaps maps(policy, limits);
  for (const bool waived : {false, true}) {
    for (Finding& finding : report.findings) {
      if (finding.kind != VerdictKind::wrong || finding.waiver.has_value() != waived) continue;
      const auto backend = std::find_if(backends.begin(), backends.end(), [&](const auto& candidate) {
        return candidate->info().name == finding.backend;
      });
      if (backend != backends.end()) maps.add_to(finding, **backend);
    }
  }
}

namespace {

// `extent` elements of [0, size) with `center` in the middle, as far as the borders let it be.
std::int64_t begin_around(std::int64_t center, std::int64_t extent, std::int64_t size) {
  return std::clamp<std::int64_t>(center - extent / 2, 0, size - extent);
}

// Rows and columns of a plane of which `most` elements fit: a square, or longer where one side is short.
std::pair<std::int64_t, std::int64_t> plane_extent(std::int64_t rows, std::int64_t columns, std::int64_t most) {
  std::int64_t side = 1;
  while ((side + 1) * (side + 1) <= most) ++side;
  const std::int64_t fewest_columns = std::min(columns, side);
  const std::int64_t shown_rows = std::min(rows, most / fewest_columns);
  return {shown_rows, std::min(columns, most / shown_rows)};
}

}  // namespace

Box whole(const std::vector<std::int64_t>& shape) {
  return {std::vector<std::int64_t>(shape.size(), 0), shape};
}

Box box_around(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& center, std::int64_t most) {
  const std::size_t rank = shape.size();
  Box box{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 1)};
  if (elements_of(shape) == 0) return whole(shape);
  std::size_t outer = rank;
  if (rank >= 2) {
    outer = rank - 2;
    std::tie(box.extent[outer], box.extent[outer + 1]) = plane_extent(shape[outer], shape[outer + 1], most);
  }
  for (std::size_t d = outer; d-- > 0;) box.extent[d] = std::min(shape[d], most / box.elements());
  for (std::size_t d = 0; d < rank; ++d) box.begin[d] = begin_around(center[d], box.extent[d], shape[d]);
  return box;
}

std::vector<std::int64_t> indices_in(const std::vector<std::int64_t>& shape, const Box& box) {
  std::vector<std::int64_t> indices{0};
  if (box.elements() == 0) return {};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::int64_t> next;
    next.reserve(indices.size() * static_cast<std::size_t>(box.extent[d]));
    for (const std::int64_t index : indices) {
      for (std::int64_t i = 0; i < box.extent[d]; ++i) next.push_back(index * shape[d] + box.begin[d] + i);
    }
    indices = std::move(next);
  }
  return indices;
}

TensorBox cut(std::string name, const Tensor& tensor, const Box& box) {
  TensorBox result{.name = std::move(name),
                   .type = name_of(tensor.type),
                   .shape = tensor.shape,
                   .begin = box.begin,
                   .extent = box.extent,
                   .values = {}};
  const std::vector<std::int64_t> indices = indices_in(tensor.shape, box);
  result.values.reserve(indices.size());
  for (const std::int64_t index : indices) result.values.push_back(element_text(tensor, index));
  return result;
}

void CaseTable::add(const std::string& suite, const Case& test_case, std::vector<CaseResult::OfBackend> backends) {
  const std::uint64_t number = cases_++;
  const bool fails = std::any_of(backends.begin(), backends.end(),
                                 [](const CaseResult::OfBackend& of) { return is_failure(of.verdict); });
  if (fails) ++failing_cases_;
  if (!fails && kept_ == RowsKept::failing) return;
  const bool has_room = last_to_go_.size() < most_rows_ / 2;
  const bool stays = fails || (has_room && shows_reason(test_case.subject(), backends));
  std::vector<Row>& rows = stays ? last_to_go_ : first_to_go_;
  if (rows.size() + (stays ? 0 : last_to_go_.size()) >= most_rows_) return;
  rows.emplace_back(number,
                    CaseResult{suite, test_case.id, test_case.subject(), summary_of(test_case), std::move(backends)});
  if (first_to_go_.size() + last_to_go_.size() > most_rows_) first_to_go_.pop_back();
}

// Whether the case is one of the first for which a backend gives its reason.
bool CaseTable::shows_reason(const std::string& op_type, std::span<const CaseResult::OfBackend> backends) {
  bool shows = false;
  for (std::size_t i = 0; i < backends.size(); ++i) {
    if (backends[i].reason.empty()) continue;
    shows = ++reasons_[{i, op_type, backends[i].reason}] <= kOfEachReason || shows;
  }
  return shows;
}

void CaseTable::rename_findings(const std::map<std::string, std::string>& ids) {
  for (auto& [number, row] : last_to_go_) {
    for (CaseResult::OfBackend& of : row.backends) {
      if (!of.finding.empty()) of.finding = ids.at(of.finding);
    }
  }
}

CaseResults CaseTable::take() {
  CaseResults results{.rows = {}, .cases = cases_, .failing = failing_cases_};
  std::vector<Row> rows;
  rows.reserve(first_to_go_.size() + last_to_go_.size());
  std::merge(std::make_move_iterator(first_to_go_.begin()), std::make_move_iterator(first_to_go_.end()),
             std::make_move_iterator(last_to_go_.begin()), std::make_move_iterator(last_to_go_.end()),
             std::back_inserter(rows), [](const Row& a, const Row& b) { return a.first < b.first; });
  results.rows.reserve(rows.size());
  for (Row& row : rows) results.rows.push_back(std::move(row.second));
  *this = CaseTable(kept_, most_rows_);
  return results;
}

}  // namespace qconform
