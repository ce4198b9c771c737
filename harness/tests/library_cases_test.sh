#!/bin/bash
# Tests scripts/library-cases on what the program prints.
#
# usage: library_cases_test.sh SOURCE_FOLDER QCONFORM
set -euo pipefail

scripts=$1/scripts
program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$*" >&2; exit 1; }
expect() { grep -q -- "$1" "$2" || fail "'$1' is not in: $(<"$2")"; }

cd "$folder"
# Each library that is here has a line, and one that is not here an error.
"$scripts/library-cases" --program "$program" --out cases >shown
while read -r library _; do
  expect "^$library " shown
done < <("$program" list libraries | grep -E '^[a-z]+  *available')
[[ -s shown ]] || { echo "skipped: no third-party library is here"; exit 77; }
! grep -q 'unsupported' shown || fail "a declined case counts as wrong: $(<shown)"
if grep -q '^opencv 4.6.0 ' shown; then
  expect '^opencv 4.6.0 gets 1[0-9] of the 16 smallest cases wrong' shown
  expect '^  got 1, admissible {0}  --  a nonzero zero point of int8 weights; ' shown
  replay=$(sed -n 's/^run one again: //p' shown)
  status=0
  $replay >again || status=$?
  [[ $status -eq 1 ]] || fail "'$replay' has the exit code $status, expected 1: $(<again)"
fi
status=0
"$scripts/library-cases" --program "$program" --out cases nothing 2>/dev/null || status=$?
[[ $status -eq 2 ]] || fail "for a library that is not here the exit code is $status, expected 2"
