#!/bin/bash
# usage: tools.sh PROGRAMS QCONFORM FOLDER
# Merges and minimises with scripts/fuzz: a second merge adds nothing, and what was minimised still fails and is smaller.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export QCONFORM_FUZZ_PROGRAMS=$1 QCONFORM_FUZZ_CORPORA=$3/corpora
qconform=$2 folder=$3
fail() {
  echo "tools: $1" >&2
  exit 1
}

rm -rf "$folder"
mkdir -p "$folder"
"$QCONFORM_FUZZ_PROGRAMS/fuzz_seeds" "$root" "$folder/seeds"
# Some are enough to show it.
find "$folder/seeds/json_reader" -type f | sort | tail -n +201 | xargs -r rm
first=$("$root/scripts/fuzz" merge json_reader "$folder/seeds/json_reader")
kept=$(find "$QCONFORM_FUZZ_CORPORA/json_reader" -type f | wc -l)
[[ $kept -gt 10 && $first == *" $kept new files "* ]] || fail "merged $kept files: $first"
again=$("$root/scripts/fuzz" merge json_reader "$folder/seeds/json_reader")
[[ $again == *" 0 new files "* ]] || fail "a second merge: $again"
"$root/scripts/fuzz" merge json_reader "$folder/nowhere" 2>/dev/null && fail "a folder that is not there"

"$qconform" fuzz --backend defect:pad-raw-zero --seed 7 --cases 512 --no-shrink --no-explain --out "$folder/campaign" >/dev/null ||
  [[ $? -eq 1 ]] || fail "no campaign"
crash=$folder/crash
cp "$folder/campaign/F1.onnx" "$crash"
"$root/scripts/fuzz" minimise differential "$crash" --backend=defect:pad-raw-zero -max_total_time=2
[[ $(stat -c %s "$crash.min") -lt $(stat -c %s "$crash") ]] || fail "it is no smaller"
if "$QCONFORM_FUZZ_PROGRAMS/fuzz_differential" --backend=defect:pad-raw-zero "$crash.min" >"$folder/log" 2>&1; then
  fail "what was minimised does not fail any more"
fi
"$root/scripts/fuzz" minimise differential "$crash" --backend=scalar -max_total_time=2 2>/dev/null && fail "nothing crashes there"
echo "$kept inputs merged, $(stat -c %s "$crash") bytes minimised to $(stat -c %s "$crash.min")"
