// Whether some classes can occur together in a row: decided exactly, by search.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "harness/model/draws/rng.h"
#include "harness/model/sweep/model.h"

namespace qconform::sweep {

inline constexpr std::size_t kMaxParameters = 32;

/// A row in the making: what is decided, and which classes are still possible for the rest.
struct PartialRow {
  std::array<std::uint32_t, kMaxParameters> possible{};  ///< a bit for each class
  std::uint32_t decided = 0;                             ///< a bit for each parameter
  std::array<std::uint8_t, kMaxParameters> row{};        ///< the classes of decided parameters

  [[nodiscard]] bool is_decided(std::size_t parameter) const { return (decided >> parameter & 1U) != 0; }
};

class ConstraintSolver {
 public:
  /// The model must outlive the solver. Tabulates every constraint.
  explicit ConstraintSolver(const Model& model);

  /// Nothing decided.
  [[nodiscard]] const PartialRow& start() const { return start_; }

  /// Decides a parameter and drops the classes of others that this rules out. False when some
  /// parameter is left without a class; the partial row is of no use then.
  [[nodiscard]] bool decide(PartialRow& partial, std::size_t parameter, std::uint8_t chosen) const;

  /// An allowed row that agrees with what is decided, or nothing: then there is none.
  [[nodiscard]] std::optional<Row> complete(const PartialRow& partial) const;

  /// A row at random that agrees with what is decided, or nothing: then there is none. Every such row can come, not all
  /// equally often.
  [[nodiscard]] std::optional<Row> draw(const PartialRow& partial, Rng& rng) const;

  /// Whether constraint `index` alone rules out these classes together: none of the tuples it allows
  /// has them. Pairs of parameter and class.
  [[nodiscard]] bool excludes(std::size_t index, std::span<const std::pair<std::size_t, std::uint8_t>> classes) const;

 private:
  struct Table {
    std::vector<std::size_t> scope;
    std::array<std::size_t, kMaxParameters> stride{};  // by parameter
    std::vector<std::uint8_t> allowed;                 // 1 or 0, by the sum of class * stride
    std::uint32_t members = 0;                         // the scope as bits
  };

  [[nodiscard]] std::optional<Row> attempt(PartialRow partial, Rng& rng) const;
  static Table tabulate(const Model& model, const Constraint& constraint);
  void join_pairs(const Table& table);
  [[nodiscard]] static bool check(const Table& table, PartialRow& partial);

  std::size_t parameters_;
  std::vector<std::size_t> offset_;   // position of each parameter's first class among all classes
  std::vector<std::size_t> classes_;  // how many classes each parameter has
  std::vector<Table> tables_;
  std::vector<std::vector<std::size_t>> tables_of_;  // by parameter
  std::vector<std::uint32_t> together_;  // by class and parameter: its classes that some tuple of every table allows
  PartialRow start_;
};

}  // namespace qconform::sweep
