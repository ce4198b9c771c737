#include "reports/read/arbitrary_values.h"

namespace qconform::testing {
namespace {

std::int64_t size() {
  return *rc::gen::inRange<std::int64_t>(0, 4);
}

TensorBox box(const Values& values, int least) {
  TensorBox result;
  result.name = values.text();
  result.type = values.text();
  std::int64_t elements = 1;
  for (int d = *rc::gen::inRange(0, 4); d > 0; --d) {
    const std::int64_t extent = least + size();
    const std::int64_t begin = size();
    result.shape.push_back(begin + extent + size());
    result.begin.push_back(begin);
    result.extent.push_back(extent);
    elements *= extent;
  }
  result.values = Values::several(static_cast<int>(elements), [&] { return values.text(); });
  return result;
}

Picture picture(const Values& values) {
  Picture result;
  result.got = box(values, 1);
  const int elements = static_cast<int>(result.got.values.size());
  const auto text = [&] { return values.text(); };
  result.expected = Values::several(elements, text);
  result.exact = Values::several(elements, text);
  for (const std::string& expected : result.expected) {
    result.admissible.push_back(Values::coin() ? "{" + expected + "}" : values.text());
    result.wrong.push_back(Values::coin());
  }
  result.wrong_elements = Values::count();
  result.worst = Values::some(4, size);
  if (Values::coin()) {
    const auto axis = [] { return PictureGeometry::Axis{size(), size(), size(), size(), size(), size()}; };
    result.geometry = PictureGeometry{size(), size(), Values::some(2, axis)};
  } else if (Values::coin()) {
    result.parameter = Values::several(elements, [] { return static_cast<std::size_t>(Values::count()); });
  }
  result.inputs = Values::some(2, [&] { return box(values, 0); });
  return result;
}

std::optional<Picture> maybe_picture(const Values& values) {
  return Values::coin() ? std::optional(picture(values)) : std::nullopt;
}

Case named_case(const Values& values) {
  Case result;
  result.id = values.text();
  return result;
}

Diagnosis diagnosis(const Values& values) {
  Diagnosis result;
  result.status = *rc::gen::element<std::string>("explained", "ambiguous", "partial", "unexplained");
  result.defects = Values::some(2, [&] {
    return DiagnosedDefect{values.text(), values.text(), values.text(), values.text(), values.text()};
  });
  result.arithmetic = values.text();
  result.examined = Values::count();
  result.trial_cases = Values::count();
  result.trial_failing = Values::count();
  result.trial_reproduced = Values::count();
  result.where = values.text();
  result.when = values.texts(3);
  result.failing = Values::count();
  result.passing = Values::count();
  result.passing_inside = Values::count();
  return result;
}

Shrinking shrinking(const Values& values) {
  Shrinking result;
  result.ending = values.text();
  result.runs = Values::count();
  result.seconds = Values::seconds();
  if (!Values::coin()) return result;
  result.steps = 1 + Values::count();
  result.original = named_case(values);
  result.original_summary = values.summary();
  result.original_file = values.text();
  result.picture = maybe_picture(values);
  return result;
}

TellingCase telling(const Values& values) {
  return {named_case(values), values.summary(), Values::count(), Values::count(), values.text(), maybe_picture(values)};
}

}  // namespace

Finding arbitrary_finding(const Values& values) {
  Finding result;
  result.id = "F" + std::to_string(1 + Values::count());
  result.backend = values.text();
  result.kind = Values::kind();
  result.op_type = values.text();
  if (Values::coin()) result.first_case = Values::count();
  result.signature = values.text();
  result.cases = 1 + Values::count();
  result.verdict.kind = result.kind;
  result.verdict.detail = values.text();
  result.verdict.rule = values.text();
  result.verdict.log = values.text();
  result.verdict.elements = Values::count();
  result.verdict.wrong_elements = Values::count();
  if (Values::coin()) result.verdict.worst = values.element();
  result.example = named_case(values);
  result.example.op_type = result.op_type;
  result.example.note = values.text();
  result.example_summary = values.summary();
  if (Values::coin()) result.waiver = WaivedBy{values.text(), values.text(), values.text()};
  if (Values::coin()) result.diagnosis = diagnosis(values);
  if (Values::coin()) result.shrinking = shrinking(values);
  if (Values::coin()) result.telling = telling(values);
  result.picture = maybe_picture(values);
  if (Values::coin()) {
    result.related = Values::some(2, [&] { return named_case(values); });
    result.related_file = "F1.related.json";
  }
  result.case_file = values.text();
  result.model_file = values.text();
  result.test_folder = values.text();
  result.replay = values.text();
  return result;
}

}  // namespace qconform::testing
