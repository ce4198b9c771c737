#!/bin/bash
# usage: smoke.sh TARGET PROGRAM SEEDS-PROGRAM FOLDER
# Fuzzes one target for some seconds from its seeds; fails on a finding, or when nothing was executed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/options.sh"
target=$1 program=$2 seeds_program=$3 folder=$4/$1

rm -rf "$folder"
mkdir -p "$folder/corpus"
"$seeds_program" "$here/.." "$folder/seeds"
cd "$folder"
# A busy machine is no hang: -timeout is looser than in a campaign.
read -r -a options <<<"$(fuzz_options "$target" | tr '\n' ' ')"
"$program" "${options[@]}" -timeout=20 -max_total_time="${QCONFORM_FUZZ_SECONDS:-10}" -artifact_prefix="$folder/" \
  corpus "seeds/$target" >log 2>&1 || { tail -40 log; exit 1; }
executed=$(sed -n 's/^stat::number_of_executed_units: //p' log)
echo "$target: $executed inputs, $(find corpus -type f | wc -l) kept"
[[ ${executed:-0} -ge 100 ]] || { echo "$target: fewer than 100 inputs in its time" >&2; exit 1; }
