// What the judge says about one backend and one case.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qconform {

enum class VerdictKind : std::uint8_t {
  pass,
  wrong,         ///< a value outside the admissible set
  bad_shape,     ///< output of another shape or type than the operator's
  not_rejected,  ///< computed something out of contract
  crashed,
  timed_out,
  out_of_bounds,  ///< wrote outside its output
  unwritten,      ///< left its output unwritten
  unsupported,    ///< a clean refusal of a valid case: counted and listed, never a pass
};

inline constexpr int kVerdictKinds = 9;

/// "pass", "wrong", "bad-shape", "not-rejected", ...
[[nodiscard]] std::string_view name_of(VerdictKind kind);

/// Whether a verdict of this kind means that the backend does not conform.
[[nodiscard]] bool is_failure(VerdictKind kind);

/// One wrong element, for the reader.
struct ElementReport {
  std::vector<std::int64_t> index;  ///< into the output, one value per dimension
  std::string got;
  std::string admissible;  ///< "{214}"
  std::string exact;       ///< value before rounding, as integer and fraction: "214 + 3/8"; may be empty
  double distance = 0;     ///< |got - nearest admissible|; infinite where not comparable
};

struct Verdict {
  VerdictKind kind = VerdictKind::pass;
  std::string detail;          ///< refusal reason, shapes, signal: one line
  std::string rule;            ///< rule id that the failure is about, if one is known
  std::uint64_t elements = 0;  ///< judged
  std::uint64_t wrong_elements = 0;
  std::optional<ElementReport> worst;  ///< the wrong element farthest from the admissible set
};

}  // namespace qconform
