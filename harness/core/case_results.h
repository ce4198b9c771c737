// The results of single cases, for a reader who looks for one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/verdict.h"

namespace qconform {

struct CaseResult {
  struct OfBackend {
    VerdictKind verdict = VerdictKind::pass;
    std::optional<reference::Tier> tier;  ///< the strictest that every element meets, where there are tiers
    std::uint64_t wrong_elements = 0;     ///< 0 where it does not fail
    std::string finding{};                ///< that the case counts to: "F1"; empty where it does not fail
    std::string reason{};                 ///< may be stated where has_reason(verdict)

    bool operator==(const OfBackend&) const = default;
  };

  std::string suite;
  std::string id;
  std::string op_type;
  std::string summary;              ///< shapes and attributes, for the reader
  std::vector<OfBackend> backends;  ///< in the order of the report's

  bool operator==(const CaseResult&) const = default;
};

/// A bounded part of a run's cases, in their order.
struct CaseResults {
  std::vector<CaseResult> rows;
  std::uint64_t cases = 0;    ///< of the run, those of `rows` included
  std::uint64_t failing = 0;  ///< of these, those that fail on some backend

  bool operator==(const CaseResults&) const = default;
};

}  // namespace qconform
