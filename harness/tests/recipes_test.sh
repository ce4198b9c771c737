#!/bin/bash
# Follows the recipes of CONTRIBUTING.md on a copy of the tree: a kernel set and a vector are a file and a line each, a
# library is a folder and a line. The recipe for a family of operators is followed by third_family_test.
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

add_vector
add_library
if [[ $(uname -m) == x86_64 ]]; then add_kernel; fi  # the copied set is one of x86-64
