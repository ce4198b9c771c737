#!/bin/bash
# Follows the recipes of CONTRIBUTING.md on a copy of the tree: a kernel set and a vector are a file and a line each, a
# library is a folder and a line; an operator of graphs, a field of the report, an option and a defect are an entry each,
# and the lines that use it. The recipe for a family of operators is followed by third_family_test.
#
# usage: recipes_test.sh SOURCE_FOLDER CORPUS_LINT
set -euo pipefail

source=$1
lint=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tree=$folder/tree
build=$tree/build/dev
fail() { echo "$*" >&2; exit 1; }

mkdir "$tree"
git -C "$source" ls-files -z | (cd "$source" && tar --null --files-from=- --create --file=-) | tar --extract --directory="$tree"
configure() { cmake --preset dev -S "$tree" "$@" >"$folder/configured" || fail "cmake: $(tail -20 "$folder/configured")"; }

add_kernel() {
  cp "$tree/reference/kernels/x86_avx2.cc" "$tree/reference/kernels/x86_scratch.cc"
  python3 - "$tree/reference/kernels/kernels.json" <<'PYTHON'
import json, sys
rows = json.load(open(sys.argv[1]))
row = dict(next(row for row in rows if row["name"] == "avx2"), name="scratch", file="x86_scratch.cc")
json.dump(rows + [row], open(sys.argv[1], "w"), indent=2)
PYTHON
  configure
  ninja -C "$build" kernels_test >"$folder/built" || fail "kernels_test: $(tail -20 "$folder/built")"
  "$build/bin/kernels_test" --gtest_filter='*scratch*' >"$folder/tested" || fail "$(tail -20 "$folder/tested")"
  grep -qE '^\[  PASSED  \] [1-9]' "$folder/tested" || grep -q SKIPPED "$folder/tested" || fail "no test of the new kernel set"
}

add_library() {
  local libraries=$tree/harness/backends/libraries
  local inc=$build/harness/backends/libraries/libraries.inc
  local objects=harness/backends/libraries/CMakeFiles/qconform_libraries.dir
  sed -i '/^qconform_adapter(onednn /i qconform_adapter(scratch "Scratch" "install scratch" HEADERS scratch.h LIBRARIES scratch)' \
    "$libraries/CMakeLists.txt"
  mkdir "$libraries/scratch"
  cat >"$libraries/scratch/scratch.cc" <<'CPP'
#include <scratch.h>

#include "harness/backends/libraries/adapters.h"

namespace qconform::libraries {

backend::Library scratch() {
  return {"scratch", "a library of the tests", {}, [] { return backend::LibraryState{SCRATCH_VERSION, {}}; },
          [](const backend::Specification& what) -> Result<std::unique_ptr<Backend>> {
            return fail("--backend", what.name + " computes nothing");
          }};
}

}  // namespace qconform::libraries
CPP
  configure
  grep -q '^QCONFORM_ABSENT_LIBRARY(scratch, "Scratch", "not found when qconform was built: install scratch")' "$inc" ||
    fail "a library that is not here is not told: $(<"$inc")"
  mkdir -p "$folder/prefix/include" "$folder/prefix/lib"
  echo '#define SCRATCH_VERSION "1.0"' >"$folder/prefix/include/scratch.h"
  echo | cc -shared -x c - -o "$folder/prefix/lib/libscratch.so"
  configure -DCMAKE_PREFIX_PATH="$folder/prefix"
  grep -q '^QCONFORM_LIBRARY(scratch)' "$inc" || fail "a library that is here is not listed: $(<"$inc")"
  ninja -C "$build" "$objects/scratch/scratch.cc.o" "$objects/libraries.cc.o" >"$folder/built" ||
    fail "the adapter: $(tail -20 "$folder/built")"
}

add_vector() {
  local file=$folder/recipe.json
  python3 - "$tree/corpus/qlinear_conv/padding.json" "$file" <<'PYTHON'
import json, sys
document = json.load(open(sys.argv[1]))
vector = document["cases"][0]
for member in ("expectation", "recorded_output"):
    vector.pop(member, None)
document["cases"] = [dict(vector, id="written-by-hand")]
json.dump(document, open(sys.argv[2], "w"))
PYTHON
  "$lint" --write "$file" >"$folder/written" || fail "the lint: $(<"$folder/written")"
  "$lint" "$file" >"$folder/read" || fail "what the lint wrote is not in its form: $(<"$folder/read")"
  grep -q '"expectation": "valid"' "$file" || fail "the lint added no expectation: $(<"$file")"
  grep -q '"recorded_output"' "$file" || fail "the lint added no answer: $(<"$file")"
}

# insert FILE PATTERN LINE: adds a line in front of the first one that has the pattern, a fixed string.
insert() {
  python3 - "$tree/$1" "$2" "$3" <<'PYTHON'
import sys
file, pattern, line = sys.argv[1:]
lines = open(file).read().split("\n")
at = next((i for i, text in enumerate(lines) if pattern in text), None)
if at is None:
    sys.exit(f"{file} has no line with '{pattern}'")
open(file, "w").write("\n".join(lines[:at] + [line] + lines[at:]))
PYTHON
}

# One build tries four recipes: each entry below is all that its recipe names but documents and tests.
add_entries() {
  insert harness/graphs/lower_elementwise.cc 'unary("Relu", 6,' \
    '    unary("Scratch", 6, kFloats, lower_exact<Function::relu>, false),'
  insert harness/report/report.h 'QC_FIELD(std::uint64_t, near_ties' \
    '  QC_FIELD(std::optional<std::uint64_t>, scratch, {}, "scratch", .doc = "A field of the tests.");'
  insert harness/engine/run_suites.cc 'result.exact_ties += expected.ties.exact;' '      result.scratch = 41;'
  insert harness/cli/run.cc '  ReportForms forms;' '  bool scratch = false;'
  insert harness/cli/run.cc '  QCONFORM_TRY(check_forms(options.forms));' '  if (options.scratch) say("scratch was given");'
  insert harness/cli/run.cc '  add_form_options(*command, options->forms);' \
    '  command->add_flag("--scratch", options->scratch, "An option of the tests");'
  insert harness/operators/convolution/requantization_defects.cc '{.id = "w-scale-common",' \
    '    {.id = "scratch", .description = "a defect of the tests", .operators = {"QLinearConv"}, .trigger = "w_scale differs", .rule = "formula", .slot = "w_scale.index", .computes = "group_channels - 1"},'
  # Nothing here checks the shape of the code.
  configure -DQCONFORM_TESTS=OFF
  ninja -C "$build" qconform qconform_schemas >"$folder/built" || fail "the entries: $(tail -20 "$folder/built")"
}

try_entries() {
  local qconform=$build/bin/qconform out=$folder/out
  cat >"$folder/graph.json" <<'JSON'
{"format": "qconform-cases", "version": 1, "cases": [{
  "id": "scratch", "note": "an operator of the tests", "rules": ["G-Relu"], "tags": [],
  "nodes": [
    {"op_type": "DequantizeLinear", "opset_version": 21, "inputs": ["x", "scale", "zero"], "outputs": ["f"]},
    {"op_type": "Scratch", "opset_version": 21, "inputs": ["f"], "outputs": ["g"]},
    {"op_type": "QuantizeLinear", "opset_version": 21, "inputs": ["g", "scale", "zero"], "outputs": ["y"]}],
  "inputs": [{"name": "x", "type": "int8", "shape": [3], "data": [-7, 0, 7]}],
  "initializers": [{"name": "scale", "type": "float", "shape": [], "data": [1.0]},
                   {"name": "zero", "type": "int8", "shape": [], "data": [0]}],
  "outputs": ["y"]}]}
JSON
  "$qconform" run --backend interpreter --suite "$folder/graph.json" --scratch --out "$out" >"$folder/run" ||
    fail "a graph with the new operator: $(<"$folder/run")"
  grep -q '^conforms: interpreter' "$folder/run" || fail "the new operator is not judged: $(<"$folder/run")"
  grep -q '^scratch was given' "$folder/run" || fail "the new option does nothing: $(<"$folder/run")"
  # Into files: a pipe would end the program where grep stops at its match.
  "$qconform" run --help >"$folder/help"
  grep -q -- '--scratch .*An option of the tests' "$folder/help" || fail "the new option has no help"
  "$qconform" completion bash >"$folder/completion"
  grep -q -- '--scratch' "$folder/completion" || fail "the new option is not completed"
  grep -q '"scratch": *41' "$out/report.json" || fail "the new field is not in the report"
  grep -q 'A field of the tests' "$build/schema/report-1.schema.json" || fail "the new field is not in the schema"
  "$qconform" report summary "$out/report.json" >/dev/null || fail "the report with the new field is not read again"
  local status=0
  "$qconform" run --backend defect:scratch --suite corpus --out "$out" >"$folder/run" || status=$?
  [[ $status -eq 1 ]] || fail "the new defect conforms: $(<"$folder/run")"
  grep -q 'a defect of the tests' "$folder/run" || fail "the new defect is not named as a cause: $(<"$folder/run")"
  "$qconform" audit --suite corpus >"$folder/audit" || fail "audit: $(<"$folder/audit")"
  grep -q '^scratch .* [1-9][0-9,]*$' "$folder/audit" || fail "audit does not kill the new defect: $(<"$folder/audit")"
}

add_vector
add_library
if [[ $(uname -m) == x86_64 ]]; then add_kernel; fi  # the copied set is one of x86-64
add_entries
try_entries
