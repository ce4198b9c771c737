#!/bin/bash
# Runs build.sh outside its container, with clang 14 and libFuzzer, and checks what it leaves in $OUT:
# every target with seeds, options and, but for the target of raw numbers, a dictionary; each runs.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export OUT
OUT=$(mktemp -d)
trap 'rm -rf "$OUT"' EXIT

CXX=${CXX:-clang++-14} CXXFLAGS=${CXXFLAGS:--O1 -fsanitize=address} LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
  "$root/.clusterfuzzlite/build.sh" >"$OUT/log" 2>&1 || { tail -40 "$OUT/log"; exit 1; }

failed=0
for target in $("$root/scripts/fuzz" list); do
  for file in "$target" "${target}_seed_corpus.zip" "$target.options"; do
    [[ -s $OUT/$file ]] || { echo "check: no $file" >&2; failed=1; }
  done
  dictionary=$(sed -n 's/^dict = //p' "$OUT/$target.options")
  [[ -z $dictionary || -s $OUT/$dictionary ]] || { echo "check: no $dictionary" >&2; failed=1; }
  mkdir "$OUT/seeds" && (cd "$OUT/seeds" && unzip -q "../${target}_seed_corpus.zip")
  "$OUT/$target" -runs=10 "$OUT/seeds" >"$OUT/log" 2>&1 || { tail -20 "$OUT/log"; failed=1; }
  echo "$target: $(find "$OUT/seeds" -type f | wc -l) seeds, ${dictionary:-no dictionary}"
  rm -rf "$OUT/seeds"
done
exit $failed
