// One report across releases and processors: which cause of failure each backend has.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/report/report.h"
#include "reports/render/terminal.h"

namespace qconform::report {

/// State of one backend with regard to one cause.
enum class MatrixState : std::uint8_t {
  wrong,           ///< it has the finding
  right,           ///< a right answer on a case on which another of the library's backends has it
  no_right_answer  ///< it declined all of those, or failed them for another cause; where the report lists no cases, it
                   ///< computed none of the operator's
};

inline constexpr std::array<std::string_view, 3> kMatrixStates{"wrong", "right", "no-right-answer"};

[[nodiscard]] inline std::string_view name_of(MatrixState state) {
  return kMatrixStates[static_cast<std::size_t>(state)];
}
inline void describe(Archive& archive, MatrixState& state, const FieldRule& /*rule*/) {
  describe_name(archive, state, {.names = kMatrixStates}, "state");
}

struct MatrixCell {
  QC_DESCRIBED();
  QC_FIELD(std::string, backend, {}, "backend");
  QC_FIELD(
      MatrixState, state, {MatrixState::right}, "state",
      .doc =
          "wrong: it has the finding. right: a right answer on a case of it. no-right-answer: it declined those, or "
          "failed them for another cause.");
  QC_FIELD(std::uint64_t, cases, {}, "cases", .doc = "Failing ones.", .presence = Presence::omitted);
  QC_FIELD(std::string, finding, {}, "finding", .doc = "Id in the report.", .presence = Presence::omitted);
  QC_FIELD(std::string, replay, {}, "replay", .doc = "Command line that shows the failure again.",
           .presence = Presence::omitted);

  bool operator==(const MatrixCell&) const = default;
};

/// One cause of failure in one operator of one library. Findings of several backends are one cause where their
/// signatures agree; and where they differ, but at least half of the cases that the one fails the other fails too, and
/// no backend has both.
struct MatrixRow {
  QC_DESCRIBED();
  QC_FIELD(std::string, library, {}, "library", .doc = "The backends' name without version, settings and processor.");
  QC_FIELD(std::string, op_type, {}, "operator");
  QC_FIELD(VerdictKind, kind, {VerdictKind::wrong}, "verdict");
  QC_FIELD(std::string, signature, {}, "signature", .doc = "As findings have it: what is wrong.");
  QC_FIELD(std::vector<std::string>, also, {}, "also",
           .doc = "Signatures of the same failing cases in other backends of the library, where it is told otherwise.",
           .presence = Presence::omitted, .max_items = 256);
  QC_FIELD(std::string, since, {}, "since",
           .doc = "The first backend that has it, where one before it computed the cases without; absent otherwise.",
           .presence = Presence::omitted);
  QC_FIELD(std::string, until, {}, "until",
           .doc = "The last backend that has it, where one after it computed the cases without; absent otherwise.",
           .presence = Presence::omitted);
  QC_FIELD(std::vector<MatrixCell>, cells, {}, "cells", .doc = "One for each backend of the library, in their order.",
           .max_items = 256);

  bool operator==(const MatrixRow&) const = default;
};

struct MatrixBackend {
  QC_DESCRIBED();
  QC_FIELD(std::string, name, {}, "name");
  QC_FIELD(std::string, version, {}, "version");
  QC_FIELD(std::string, library, {}, "library");

  bool operator==(const MatrixBackend&) const = default;
};

struct Matrix {
  static constexpr std::string_view kFormat = "qconform-matrix";
  static constexpr std::uint64_t kVersion = 1;

  QC_DESCRIBED();
  QC_LINE(describe_format(archive, Matrix::kFormat, Matrix::kVersion));
  QC_FIELD(std::string, profile, {}, "profile");
  QC_FIELD(std::uint64_t, seed, {}, "seed", .minimum = 0);
  QC_FIELD(std::vector<MatrixBackend>, backends, {}, "backends", .doc = "In the order of the report.",
           .max_items = 256);
  QC_FIELD(std::vector<MatrixRow>, rows, {}, "rows",
           .doc = "By library and operator; causes of the newest backend of a library stand first.", .max_items = 4096);

  bool operator==(const Matrix&) const = default;
};

/// The findings of a report, by cause. Order of `report.backends` is that of releases: the oldest first.
[[nodiscard]] Matrix matrix_of(const Report& report);

[[nodiscard]] std::string matrix_json(const Matrix& matrix);
/// A table for each library: numbers of failing cases, "." for right, "-" for no right answer. Where all backends of a
/// library do not fit into so many `columns`, one table after the other; 0: they need not.
[[nodiscard]] std::string matrix_table(const Matrix& matrix, const Painter& paint, std::size_t columns);
/// The tables in Markdown, with the replay line of each cause's newest backend.
[[nodiscard]] std::string matrix_markdown(const Matrix& matrix);

}  // namespace qconform::report
