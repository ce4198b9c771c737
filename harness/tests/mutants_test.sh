#!/bin/bash
# What scripts/mutants makes of a plugin, and what it says of those that survive.
# usage: mutants_test.sh SOURCE_DIRECTORY QCONFORM list|judge
set -euo pipefail

source=$1/harness/tests/plugins/dequantize.c
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "mutants_test: $1" >&2
  exit 1
}

mutants() { "$1/scripts/mutants" "$source" --qconform "$2" "${@:3}"; }

if [[ $3 == list ]]; then
  mutants "$1" "$2" --list > "$folder/list"
  for change in 'graph->nodes\[(0 + 1)\]' 'value + 1 < 0' 'value != NULL || value->type' 'if (!(strcmp' 'is(QC_UINT8, input(graph, 0))' \
                '(graph->values\[value\]) : (NULL)'; do
    grep -q "$change" "$folder/list" || fail "no mutant has $change"
  done
  grep -q include "$folder/list" && fail "an include is no code"
  echo '[{"original": "no such line", "mutated": "", "reason": "none"}]' > "$folder/equivalent.json"
  code=0
  mutants "$1" "$2" --list --equivalent "$folder/equivalent.json" 2> "$folder/errors" || code=$?
  [[ $code == 2 ]] || fail "an equivalent mutant that there is not: exit code $code"
  grep -q 'the source has no such mutant' "$folder/errors" || fail "$(cat "$folder/errors")"
  exit 0
fi

# Of its mutants those that change a message alone survive.
code=0
mutants "$1" "$2" --compiler cc --flags '-std=c11 -O1' --run '--suite corpus' --sample 24 --json "$folder/result.json" > "$folder/table" || code=$?
cat "$folder/table"
[[ $code == 0 || $code == 1 ]] || fail "exit code $code"
grep -Eq '^.*dequantize.c: (1[89]|2[0-4]) of [0-9]+ mutants killed' "$folder/table" || fail "fewer killed than there were"
grep -Eq ' [1-9][0-9]* compile to code that is there already' "$folder/table" || fail "a mutant stands for each that is the same"
python3 - "$folder/result.json" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
assert len(result["mutants"]) == 24, len(result["mutants"])
assert all(mutant["fate"] in ("killed", "survived") for mutant in result["mutants"])
END
