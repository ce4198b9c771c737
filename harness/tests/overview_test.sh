#!/bin/bash
# Tests scripts/overview and scripts/library-cases on what the program prints.
#
# usage: overview_test.sh SOURCE_FOLDER QCONFORM
set -euo pipefail

scripts=$1/scripts
program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$*" >&2; exit 1; }
expect() { grep -q -- "$1" "$2" || fail "'$1' is not in: $(<"$2")"; }

# A table with a row for each backend, a line for each finding, and what follows.
cd "$folder"
status=0
"$program" run --backend scalar --backend defect:pair-sat-i16 --suite "$1/corpus/qlinear_conv" --no-explain \
  --out run >summary || status=$?
[[ $status -eq 1 ]] || fail "the run's exit code is $status, expected 1"
"$scripts/overview" summary >overview
[[ $(head -n 1 overview) == "right / wrong answers "*" QLinearConv" ]] || fail "the table begins: $(<overview)"
expect '^scalar [0-9.]*  *[0-9,]* / 0$' overview
expect '^defect:pair-sat-i16 [0-9.]*  *[0-9,]* / [1-9][0-9,]*$' overview
expect '^  F1 wrong.* QLinearConv on defect:pair-sat-i16 [0-9]* cases*: x .* got .* admissible ' overview
expect '^conforms: scalar on QLinearConv$' overview
expect '^does not conform: defect:pair-sat-i16$' overview
expect '^report run/report.json$' overview
"$program" report summary run/report.json | "$scripts/overview" >again
diff <(grep -v '^\(report\|page\) ' overview) again || fail "report summary gives another overview, see above"

# What a waiver covers is counted; without a summary there is an error.
printf '%s\n' 'scalar 0.1.0 (in-tree)   3 cases in 1 ms' '  ConvInteger   1   2   0   0   0' \
  '  QuantizeLinear   not implemented: 2 valid cases declined, 0 rightly refused' '' \
  'waived, known discrepancies' '  F1 wrong   ConvInteger on scalar   2 cases   id: reason (place)' '' \
  '0 findings beyond the waived' '' | "$scripts/overview" >overview
expect '^scalar 0.1.0  *1 / 2  *-$' overview
expect '^1 known finding is waived' overview
status=0
"$scripts/overview" /dev/null 2>/dev/null || status=$?
[[ $status -eq 2 ]] || fail "without a summary the exit code is $status, expected 2"

# Each library that is here has a line, and one that is not here an error.
"$scripts/library-cases" --program "$program" --out cases >overview
while read -r library _; do
  expect "^$library " overview
done < <("$program" list backends | grep -E '^(onnxruntime|onednn|xnnpack|opencv)  *available')
if grep -q '^opencv 4.6.0 ' overview; then
  expect '^opencv 4.6.0 gets 1[0-9] of the 15 smallest cases wrong' overview
  expect '^  got 1, admissible {0}  --  a nonzero zero point of int8 weights; ' overview
  replay=$(sed -n 's/^run one again: //p' overview)
  status=0
  $replay >again || status=$?
  [[ $status -eq 1 ]] || fail "'$replay' has the exit code $status, expected 1: $(<again)"
fi
status=0
"$scripts/library-cases" --program "$program" --out cases nothing 2>/dev/null || status=$?
[[ $status -eq 2 ]] || fail "for a library that is not here the exit code is $status, expected 2"
