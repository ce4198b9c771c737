// Learns what a backend does where no model of a known defect fits: an expression in place of one of the reference's,
// found by trying all of them, smallest first, on what was observed, and then on cases made to tell apart those that
// are left.
//
// docs/explain.md ("Learning a model") describes the language and what is claimed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>
#include <vector>

#include "harness/diagnose/explain/candidates.h"
#include "harness/diagnose/explain/probes.h"
#include "harness/model/defects/expression.h"

namespace qconform::diagnose {

// The expressions of a slot, smallest first, each that computes something new.

/// The inputs of an expression at one call: a value for each of the slot's variables.
struct ExpressionInputs {
  std::vector<std::int64_t> variables;
  IntegerRange range;
};

/// A fingerprint of 64 bits, as good as the values themselves.
[[nodiscard]] std::uint64_t fingerprint_of(std::span<const std::int64_t> values);

class Enumeration {
 public:
  static constexpr std::size_t kLargest = 7;         ///< operands and operators, without the reference behind `:`
  static constexpr std::size_t kMostOfASize = 4000;  ///< expressions of one size that larger ones are built of

  /// Expressions that give the same values on all rows count as one, the smallest of them, and what gives those of the
  /// reference as none. Without rows there are none, but for a slot of names alone.
  Enumeration(const ExpressionSlot& slot, std::vector<ExpressionInputs> rows);

  /// The expressions of the next size, from 1 on, in an order that depends on slot and rows alone; `visit` gets their
  /// values by row, too, and returns false to end.
  using Visit = std::function<bool(const Expression& expression, std::span<const std::int64_t> values)>;
  /// Ends where `most_joins` would be exceeded, too: operations on all rows.
  void next_size(const Visit& visit, std::uint64_t most_joins = UINT64_MAX / 2);
  [[nodiscard]] std::size_t size() const { return entries_.size() - 1; }
  /// The largest size of which all were visited: there may be too many to build larger ones of all of them.
  [[nodiscard]] std::size_t complete_up_to() const { return complete_; }
  [[nodiscard]] const ExpressionSlot& slot() const { return slot_; }
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] std::uint64_t joins() const { return joins_; }
  [[nodiscard]] const std::vector<std::int64_t>& reference() const { return reference_.values; }

 private:
  struct EvaluatedExpression {
    std::vector<Expression::Node> nodes;
    std::vector<std::int64_t> values;
  };
  using Entries = std::vector<EvaluatedExpression>;

  [[nodiscard]] EvaluatedExpression entry_of(std::vector<Expression::Node> nodes) const;
  void join(Operation operation, std::span<const EvaluatedExpression* const> operands);
  void add_leaves();
  void add_joined(std::size_t size);
  void add_choices(std::size_t size);
  void find_conditions();
  [[nodiscard]] std::vector<std::int64_t> stored(std::vector<std::int64_t> values) const;
  [[nodiscard]] std::uint64_t fingerprint(const std::vector<std::int64_t>& values) const;
  void add(EvaluatedExpression entry);

  const ExpressionSlot& slot_;
  std::vector<ExpressionInputs> rows_;
  EvaluatedExpression reference_;
  std::vector<Entries> entries_{1};  // by size
  std::vector<Entries> conditions_;  // by size, each true in some rows alone
  std::unordered_set<std::uint64_t> seen_;
  const Visit* visit_ = nullptr;
  std::vector<std::int64_t> scratch_;
  std::uint64_t joins_ = 0;
  std::uint64_t most_joins_ = 0;
  bool has_ended_ = false;
  std::size_t complete_ = kLargest;
};

// Expressions that reproduce the evidence.

struct Learning {
  /// Models (defect_files.h) that reproduce every byte of every observation, three failing ones or more, and of cases
  /// that were generated when they were known; the smallest expression first. Several where no generated case tells
  /// them apart. Empty: none was found.
  std::vector<DefectSet> candidates;
  /// There is one, and every other expression of its size was tried and is contradicted.
  bool is_certain = false;
  std::uint64_t tried = 0;   ///< expressions run on a case
  std::uint64_t agreed = 0;  ///< cases generated when the candidates were known, where they differ from the reference
};

struct LearningOptions {
  std::uint64_t work;  ///< work of models, in products: ModelledCase::expense()
  /// Whether something else has this failure, so that nothing is to be learnt from it. May be empty.
  std::function<bool(const Observation&)> is_explained;
};

/// `observe` runs the backend on a case and adds what comes of it to `evidence`; null where that says nothing.
[[nodiscard]] Learning learn(const Operator& op, const Evidence& evidence, Probes& probes, const CandidateTest& test,
                             const std::function<const Observation*(Case)>& observe, const LearningOptions& options);

}  // namespace qconform::diagnose
