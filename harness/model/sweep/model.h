// Models of the covering sweep: parameters of a few classes each, constraints between them, and contracts of backends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/core/case.h"
#include "harness/core/fields.h"
#include "harness/core/tensor.h"
#include "harness/model/draws/draws.h"

namespace qconform::sweep {

/// One class of every parameter, by position in the model.
using Row = std::vector<std::uint8_t>;

enum class ParameterRole : std::uint8_t {
  value,     ///< a value of data or of a parameter
  core,      ///< one of the few by which backends choose what they take: types, ranks
  geometry,  ///< how an extent of the output follows from those of the input
  extent,    ///< how large something is; plain is small
};

/// Some classes of one parameter, a bit for each.
using ClassSet = std::uint64_t;
inline constexpr std::size_t kMaxClasses = 64;
[[nodiscard]] constexpr ClassSet set_of(std::size_t chosen) {
  return ClassSet{1} << chosen;
}

struct Parameter {
  std::string name;
  std::vector<std::string> classes;  ///< between 1 and kMaxClasses
  std::uint8_t plain = 0;            ///< the class that the fewest backends decline
  ParameterRole role = ParameterRole::value;

  [[nodiscard]] ClassSet all() const { return ~ClassSet{0} >> (kMaxClasses - classes.size()); }
};

/// A combination that is left out, and why: `holds` reads the classes of the parameters in `scope`
/// alone. The product of their numbers of classes is small enough to be tabulated.
struct Constraint {
  std::string text;                ///< the condition, as one sentence for the reader
  std::vector<std::size_t> scope;  ///< positions of parameters, each once
  std::function<bool(const Row&)> holds;
};

struct Model {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;

  [[nodiscard]] std::size_t classes() const;  ///< how many classes all parameters have together
  [[nodiscard]] bool allows(const Row& row) const;
};

/// Sizes at which kernels change their way, and cases of them. None where the model has none.
struct SizedModel {
  std::size_t sizes = 0;
  std::string (*name)(std::size_t size) = nullptr;  ///< "width 255"
  /// A case of that size, otherwise as `row`, which the model allows; nothing where the row does not go with the size,
  /// or where `takes` declines the classes that the case would have.
  std::optional<Case> (*realise)(const Row& row, std::size_t size, std::uint64_t seed, std::uint64_t index,
                                 const std::function<bool(const Row&)>& takes) = nullptr;
  std::size_t small = sizes;  ///< sizes from this position on take so long that each has fewer cases
};

/// A parameter by its position, and one of its classes.
using ParameterClass = std::pair<std::size_t, std::uint8_t>;

/// Changes of one thing in a node, for cases one after the other that a cache might take for the same.
struct NeighbourModel {
  std::span<const std::string_view> changes = {};
  /// The case with that change, valid where the case is; nothing where it has no such thing.
  std::optional<Case> (*changed)(const Case& test_case, std::size_t change, Rng& rng) = nullptr;
  /// Classes by parameter of nodes that kernels have algorithms of their own for, which keep more from node to node.
  std::span<const ParameterClass> special = {};
};

/// Says whether it matters which of some classes of a parameter a case has.
using Asked = std::function<bool(std::size_t parameter, ClassSet classes)>;
[[nodiscard]] inline bool ask_all(std::size_t /*parameter*/, ClassSet /*classes*/) {
  return true;
}

/// A model whose rows can be made into cases, and cases read back as rows.
struct SweptModel {
  const Model& (*model)();
  /// A valid case with exactly the classes of `row`, which the model allows; its other values depend
  /// on `seed` and `index` alone.
  Case (*realise)(const Row& row, std::uint64_t seed, std::uint64_t index);
  /// The classes that a case has, found from the case alone; any one of those between which `asked` sees no difference.
  /// The case is valid and one of the model's.
  Row (*classify)(const Case& test_case, const Asked& asked);
  SizedModel sized = {};
  NeighbourModel neighbours = {};
  /// The operators whose cases the rows make, in ONNX's default domain: each operator has one model at most.
  std::span<const std::string_view> operators = {};
};

/// The classes of a valid case of one of its operators. Where the model has no class for a value or an extent, the
/// plain one; nothing where it has none for something else. The row need not be one that the model allows. `asked`: as
/// for SweptModel::classify.
[[nodiscard]] std::optional<Row> row_of(const SweptModel& swept, const Case& test_case, const Asked& asked);

// Parts of models.

/// Returns the place of `value` among those of a parameter's classes, or N if it is none of them.
template <typename T, std::size_t N>
[[nodiscard]] std::uint8_t class_of(const T (&values)[N], T value) {
  std::uint8_t i = 0;
  while (i < N && values[i] != value) ++i;
  return i;
}

/// Returns whether the conclusion holds if the premise does.
[[nodiscard]] constexpr bool implies(bool premise, bool conclusion) {
  return !premise || conclusion;
}

// Classes of zero points of any integer type.

/// Returns the class of a zero point: 0 the low end, 1 the middle (0, or half the range of an unsigned type), 2 the
/// high end, 3 another.
[[nodiscard]] std::uint8_t zero_point_class(ElementType type, std::int64_t value);

/// A value of one of these four classes.
[[nodiscard]] std::int64_t draw_zero_point(Rng& rng, ElementType type, std::uint8_t zero_point);

// Whether some classes can occur together in a row: decided exactly, by search.

inline constexpr std::size_t kMaxParameters = 32;

/// A row in the making: what is decided, and which classes are still possible for the rest.
struct PartialRow {
  std::array<ClassSet, kMaxParameters> possible{};
  std::uint32_t decided = 0;                       ///< a bit for each parameter
  std::array<std::uint8_t, kMaxParameters> row{};  ///< the classes of decided parameters

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
  std::vector<ClassSet> together_;  // by class and parameter: its classes that some tuple of every table allows
  PartialRow start_;
};

// Contracts: the cases that a backend takes, in the classes of a sweep model. Its suites stay within them.

/// Some classes of one parameter.
struct Term {
  QC_DESCRIBED();
  QC_FIELD(std::size_t, parameter, {}, "parameter");
  QC_FIELD(ClassSet, classes, {}, "classes");
  [[nodiscard]] bool has(const Row& row) const { return (classes >> row[parameter] & 1U) != 0; }
  auto operator<=>(const Term&) const = default;
};

/// Terms of different parameters, in the order of those; a row has the combination where it has every term.
using Combination = std::vector<Term>;
[[nodiscard]] bool has(const Row& row, const Combination& combination);

struct SweepContract {
  QC_DESCRIBED();
  /// By parameter, the classes that some case can have. None at all: the backend takes no case of the model.
  QC_FIELD(std::vector<ClassSet>, taken, {}, "taken");
  /// Combinations of two terms or more whose classes the backend takes, but not together.
  QC_FIELD(std::vector<Combination>, declined, {}, "declined");

  [[nodiscard]] bool takes_anything() const;
  [[nodiscard]] bool takes(const Row& row) const;
  /// Whether it can matter which of some classes of a parameter a row has.
  [[nodiscard]] bool tells_apart(std::size_t parameter, ClassSet classes) const;
  bool operator==(const SweepContract&) const = default;
};

/// Takes every row that the model allows.
[[nodiscard]] SweepContract whole_contract(const Model& model);
[[nodiscard]] bool is_whole(const SweepContract& contract, const Model& model);

/// The model with the contract among its constraints, so that its rows are those that the backend takes.
[[nodiscard]] Model restricted(const Model& model, const SweepContract& contract);

/// A line for each parameter of which not all classes are taken, "x type: int8; not uint8", then one for each
/// combination, "not w type = uint8 with w parameters = per channel".
[[nodiscard]] std::vector<std::string> lines_of(const SweepContract& contract, const Model& model);

/// Parses a contract that a user states: words "PARAMETER=CLASS[|CLASS]..." between commas, "x type=int8, w zero
/// point=middle". Other parameters are free; a parameter may not be named twice. Errors name the word, and the
/// parameters or classes there are.
[[nodiscard]] Result<SweepContract> parse_contract(std::string_view text, const Model& model);

}  // namespace qconform::sweep
