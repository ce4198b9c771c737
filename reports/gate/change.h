// What became worse, better or other between two reports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace qconform::gate {

enum class Effect : std::uint8_t {
  worse,  ///< makes the gate fail
  better,
  waived,  ///< would make it fail, but for a waiver
  note,    ///< neither, or of a backend that does not decide
};

/// "worse", "better", "waived", "note"
[[nodiscard]] std::string_view name_of(Effect effect);

struct Change {
  Effect effect = Effect::note;
  std::string what;     ///< the kind of change, one word: "new-finding", "fewer-cases"; docs/gate.md has all
  std::string backend;  ///< may be empty, like all that follow
  std::string op_type;
  std::string signature;  ///< of a finding; of other changes the suite, hazard, relation or layer
  std::string region;     ///< of a finding: the conditions under which it occurs
  std::string text;       ///< one line
  std::string finding;    ///< its id in the new report
};

struct Comparison {
  std::vector<Change> changes;

  [[nodiscard]] std::size_t count(Effect effect) const {
    return static_cast<std::size_t>(
        std::count_if(changes.begin(), changes.end(), [&](const Change& c) { return c.effect == effect; }));
  }
  [[nodiscard]] bool passes() const { return count(Effect::worse) == 0; }
};

}  // namespace qconform::gate
