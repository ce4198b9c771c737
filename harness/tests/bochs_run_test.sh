#!/bin/bash
# scripts/bochs-run ROOT QCONFORM: what it refuses, and one program in the emulated machine.
set -euo pipefail

root=$1 qconform=$2
run="$root/scripts/bochs-run"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "bochs_run_test: $1" >&2; exit 1; }
# refuses STATUS TEXT ARGUMENT...
refuses() {
  local status=0 expected=$1 text=$2
  shift 2
  "$@" >"$work/log" 2>&1 || status=$?
  [[ $status == "$expected" ]] || fail "'$*' ended with status $status, not $expected: $(<"$work/log")"
  grep -qF -- "$text" "$work/log" || fail "'$*' does not say '$text': $(<"$work/log")"
}

refuses 2 'invalid choice' "$run" --cpu z80 true
refuses 125 'scripts/get-bochs' env QCONFORM_BOCHS=/nonexistent "$run" true
# Both know the same processors.
"$qconform" run --backend scalar --cpu bochs:none --suite random --cases 1 >"$work/refusal" 2>&1 && fail "bochs:none is accepted"
models=$(sed -n 's/.*Bochs has \(.*\)/\1/p' "$work/refusal")
[[ $(COLUMNS=1000 "$run" --help) == *"one of $models "* ]] || fail "qconform and bochs-run know other processors: $models"

[[ -f ${QCONFORM_BOCHS:-$root/build/bochs}/RECIPE ]] || { echo "skipped: Bochs is not in build/bochs: scripts/get-bochs"; exit 77; }
refuses 125 'no/such/program is not a program' "$run" no/such/program
refuses 125 'there is no such file' "$run" --file "$work/none" true
refuses 124 'not done in 1 s' "$run" --timeout 1 true

echo 'what was given' >"$work/given"
status=0
"$run" --cpu haswell --file "$work/given" --env "GIVEN=two words" --out "$work/out" /bin/bash -c \
  "echo \$GIVEN; read -r line <$work/given
   echo \"\$line\"; echo kept >/job/out/kept; exit 7" >"$work/log" 2>&1 || status=$?
[[ $status == 7 ]] || fail "status $status instead of 7: $(<"$work/log")"
for text in 'two words' 'what was given'; do
  grep -qF "$text" "$work/log" || fail "the output lacks '$text': $(<"$work/log")"
done
[[ $(<"$work/out/kept") == kept ]] || fail "what was in /job/out is lost"
for left in "${QCONFORM_BOCHS:-$root/build/bochs}"/.job.*; do
  [[ ! -e $left || $left -ot $work/given ]] || fail "$left is left"
done
