#include "harness/graphs/window_attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace qconform::lowering {
namespace {

using List = std::vector<std::int64_t>;

std::optional<List> optional_list(const NodeLowering& node, std::string_view name) {
  const auto* list = node.get<List>(name);
  return list == nullptr ? std::nullopt : std::optional(*list);
}

bool read_list(const NodeLowering& node, std::string_view name, std::size_t count, std::int64_t smallest, List& to) {
  const auto* list = node.get<List>(name);
  if (list == nullptr) {
    to.assign(count, smallest);
    return true;
  }
  if (list->size() != count) {
    return node.violate(name, fmt::format("expected {} values, got {}", count, list->size()));
  }
  for (const std::int64_t value : *list) {
    if (value < smallest) return node.violate(name, fmt::format("expected {} or more, got {}", smallest, value));
    if (value >= reference::kMaxAttributeValue) return node.limit(name, fmt::format("{} is not judged", value));
  }
  to = *list;
  return true;
}

}  // namespace

reference::ConvolutionAttributes window_attributes(const NodeLowering& node) {
  return {.auto_pad = node.get_or<std::string>("auto_pad", "NOTSET"),
          .group = node.get_or<std::int64_t>("group", 1),
          .kernel_shape = optional_list(node, "kernel_shape"),
          .strides = optional_list(node, "strides"),
          .dilations = optional_list(node, "dilations"),
          .pads = optional_list(node, "pads")};
}

std::optional<WindowLists> window_lists(const NodeLowering& node, std::size_t rank) {
  const std::string auto_pad = node.get_or<std::string>("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "SAME_UPPER" && auto_pad != "SAME_LOWER" && auto_pad != "VALID") {
    node.violate("auto_pad", fmt::format("expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, got \"{}\"", auto_pad));
    return std::nullopt;
  }
  WindowLists lists;
  List pads;
  if (!read_list(node, "strides", rank, 1, lists.strides) || !read_list(node, "dilations", rank, 1, lists.dilations) ||
      !read_list(node, "output_padding", rank, 0, lists.output_padding) ||
      !read_list(node, "pads", 2 * rank, 0, pads)) {
    return std::nullopt;
  }
  if (auto_pad != "NOTSET" && std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; })) {
    node.violate("pads", fmt::format("cannot be used together with auto_pad {}", auto_pad));
    return std::nullopt;
  }
  lists.pad_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  lists.pad_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  return lists;
}

}  // namespace qconform::lowering
