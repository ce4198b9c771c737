// Writes the JSON Schemas of what qconform writes, from the descriptions of its types.
//
// usage: qconform_write_schemas FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "harness/core/profile.h"
#include "harness/diagnose/audit/audit.h"
#include "harness/forms/archive/archive.h"
#include "harness/forms/archive/report_archive.h"
#include "harness/forms/defects/defect_files.h"
#include "harness/forms/json/json_text.h"
#include "reports/gate/baseline.h"
#include "reports/gate/gate.h"
#include "reports/render/bench_document.h"
#include "reports/render/matrix.h"

namespace qconform {
namespace {

template <typename T>
bool write(const std::filesystem::path& folder, const char* name, std::string_view title,
           std::string_view description) {
  const std::string id = std::string(name) + ".schema.json";
  std::ofstream file(folder / id);
  file << print_json(schema_of({id, title, description}, description_of(T())));
  return static_cast<bool>(file.flush());
}

bool write_all(const std::filesystem::path& folder) {
  return write<Report>(folder, "report-1", "qconform report, version 1",
                       "What `qconform run` found. Every other form of the report is rendered from this one.") &&
         write<gate::Baseline>(folder, "baseline-1", "qconform baseline, version 1",
                               "What `qconform gate --store-baseline` writes and `--baseline` reads.") &&
         write<report::BenchDocument>(folder, "bench-1", "qconform benchmark, version 1",
                                      "What `qconform bench` measured. Times are seconds.") &&
         write<gate::GateResult>(folder, "gate-1", "qconform gate, version 1",
                                 "What `qconform gate --json` found between two reports.") &&
         write<report::Matrix>(folder, "matrix-1", "qconform matrix, version 1",
                               "What `qconform matrix --json` prints: causes of failure by release and processor.") &&
         write<diagnose::AuditDocument>(
             folder, "audit-1", "qconform audit, version 1",
             "What `qconform audit --json` prints and `--baseline` reads: which defect models suites detect.") &&
         write<diagnose::ModelFile>(folder, "model-1", "qconform model, version 1",
                                    "A learnt model, as `qconform explain --save-model` writes it and `defect:FILE` "
                                    "runs it. docs/explain.md describes the language of its expression.") &&
         write<diagnose::DefectsFile>(
             folder, "defects-1", "qconform defects, version 1",
             "Defects of your own, as `--defects FILE` reads them. docs/defect-models.md says how to state one. What a "
             "schema cannot state: the stages and their names; the error for an unknown one lists them.") &&
         write<PinnedProfile>(
             folder, "profile-1", "qconform pinned profile, version 1",
             "What one backend computes, as `qconform identify -o` writes it and `--profile FILE` reads it. What a "
             "schema cannot state: which variants a choice has; `qconform list ways` lists them.");
}

}  // namespace
}  // namespace qconform

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: qconform_write_schemas FOLDER\n", stderr);
    return 2;
  }
  std::error_code error;
  std::filesystem::create_directories(argv[1], error);
  if (qconform::write_all(argv[1])) return 0;
  std::fprintf(stderr, "qconform_write_schemas: %s cannot be written\n", argv[1]);
  return 2;
}
