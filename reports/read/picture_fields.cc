// The pictures of failures.
#include <fmt/format.h>

#include "reports/read/report_fields.h"

namespace qconform::report {

bool ReportFields::read(const Json& value, const std::string& where, TensorBox& out) {
  if (!record(value, where, to("name", out.name), to("type", out.type), to("shape", out.shape), to("begin", out.begin),
              to("extent", out.extent), to("values", out.values))) {
    return false;
  }
  if (out.begin.size() != out.shape.size() || out.extent.size() != out.shape.size()) {
    return refuse(where, fmt::format("shape, begin and extent have {}, {} and {} dimensions", out.shape.size(),
                                     out.begin.size(), out.extent.size()));
  }
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < out.shape.size(); ++d) {
    if (out.begin[d] < 0 || out.extent[d] < 0 || out.extent[d] > out.shape[d] ||
        out.begin[d] > out.shape[d] - out.extent[d]) {
      return refuse(where, fmt::format("dimension {}: the box [{}, +{}) is not within {}", d, out.begin[d],
                                       out.extent[d], out.shape[d]));
    }
    if (__builtin_mul_overflow(elements, out.extent[d], &elements)) return refuse(where, "the box is too large");
  }
  return static_cast<std::size_t>(elements) == out.values.size() ||
         refuse(json_path(where, "values"), fmt::format("{} values for {} elements", out.values.size(), elements));
}

bool ReportFields::read(const Json& value, const std::string& where, PictureGeometry::Axis& out) {
  return record(value, where, to("input", out.input), to("kernel", out.kernel), to("stride", out.stride),
                to("dilation", out.dilation), to("pad_begin", out.pad_begin), to("pad_end", out.pad_end));
}

bool ReportFields::read(const Json& value, const std::string& where, PictureGeometry& out) {
  return record(value, where, to("group_input_channels", out.group_input_channels),
                to("group_output_channels", out.group_output_channels), to("axes", out.axes));
}

// Null where the expected value alone is right.
bool ReportFields::admissible(const Json& value, const std::string& where, Picture& out) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    std::string& text = out.admissible.emplace_back();
    if (value[i].is_null()) {
      text = "{" + out.expected[i] + "}";
    } else if (!read(value[i], json_path(where, i), text)) {
      return false;
    }
  }
  return true;
}

bool ReportFields::wrong_elements(const Json& value, const std::string& where, Picture& out) {
  std::vector<std::uint64_t> positions;
  if (!read(value, where, positions)) return false;
  out.wrong.assign(out.expected.size(), false);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] >= out.wrong.size() || (i > 0 && positions[i] <= positions[i - 1])) {
      return refuse(json_path(where, i),
                    fmt::format("expected positions below {}, ascending, got {}", out.wrong.size(), positions[i]));
    }
    out.wrong[static_cast<std::size_t>(positions[i])] = true;
  }
  return true;
}

bool ReportFields::read(const Json& value, const std::string& where, Picture& out) {
  std::vector<std::uint64_t> parameter;
  if (!record(value, where, to("got", out.got), to("expected", out.expected), to("exact", out.exact),
              ignored("admissible"), ignored("wrong"), to("wrong_elements", out.wrong_elements), to("worst", out.worst),
              optional(to("geometry", out.geometry)), optional(to("parameter", parameter)), to("inputs", out.inputs))) {
    return false;
  }
  for (const std::uint64_t position : parameter) out.parameter.push_back(static_cast<std::size_t>(position));
  const std::string path = json_path(where, "admissible");
  const Json& admissible_values = value["admissible"];
  if (!array(admissible_values, path, kMostEntries)) return false;
  for (const std::size_t size : {out.expected.size(), out.exact.size(), admissible_values.size()}) {
    if (size == out.got.values.size()) continue;
    return refuse(where, fmt::format("got has {} values, another of its lists {}", out.got.values.size(), size));
  }
  if (!out.parameter.empty() && out.parameter.size() != out.got.values.size()) {
    return refuse(json_path(where, "parameter"),
                  fmt::format("{} positions for {} elements", out.parameter.size(), out.got.values.size()));
  }
  return admissible(admissible_values, path, out) && wrong_elements(value["wrong"], json_path(where, "wrong"), out);
}

}  // namespace qconform::report
