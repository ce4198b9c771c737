// A case as one line, which people type, edit and paste into a chat.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/base/error.h"
#include "harness/core/case.h"

namespace qconform {

/// Reads a case of one node:
///
///   QuantizeLinear x=1.5,2.5 y_scale=1 y_zero_point:int8=0
///   QLinearConv:10 x:uint8[1,1,2,2]=1,2,3,4 w:int8[1,1,1,1]=-3 y_scale=0.5 pads=[1,0,0,1]
///   QLinearConv ic64ih56oc64oh56kh3ph1 x:int8 w_zero_point=3
///
/// OPERATOR[:OPSET], the newest opset without a number, then words. NAME[:TYPE][[SHAPE]][=DATA] is an input: DATA is
/// one value for all elements, or all values (0*3: three zeros); ~SEED, or nothing, draws uniform bytes. Without a type
/// an input has the one that it shares with another, or the usual one; without a shape that of its list. Any other
/// NAME=VALUE is an attribute. A convolution may state its sizes as oneDNN's benchdnn does; what no word states is
/// drawn then, with scales that keep most outputs in range. Errors name --case and the word; a node with other inputs
/// and attributes than its operator has is one, too.
[[nodiscard]] Result<Case> case_of_line(std::string_view line);

/// The line that case_of_line() reads back to the same computation; nothing of graphs, and where the line would be
/// longer than kMostLineBytes.
[[nodiscard]] std::optional<std::string> line_of(const Case& test_case);
inline constexpr std::size_t kMostLineBytes = 240;

/// The name of a suite that is such a line begins with this: "case:QuantizeLinear x=1.5 y_scale=1".
inline constexpr std::string_view kLinePrefix = "case:";

}  // namespace qconform
