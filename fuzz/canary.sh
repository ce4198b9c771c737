#!/bin/bash
# usage: canary.sh PROGRAM QCONFORM FOLDER
# Fuzzes a planted defect from nothing. Fails unless it is found within 60 s, reported as what it is,
# and left in a file that qconform opens.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/options.sh"
program=$1 qconform=$2 folder=$3

rm -rf "$folder"
mkdir -p "$folder/corpus"
cd "$folder"
read -r -a options <<<"$(fuzz_options canary | tr '\n' ' ')"
started=$SECONDS
if "$program" "${options[@]}" -timeout=20 -max_total_time=60 -artifact_prefix="$folder/" corpus >log 2>&1; then
  tail -5 log
  echo "canary: the planted defect was not found within 60 s" >&2
  exit 1
fi
grep -q '^half-away under correctly-rounded: wrong' log || { tail -40 log; echo "canary: failed otherwise" >&2; exit 1; }
crash=$(find "$folder" -maxdepth 1 -name 'crash-*' | head -1)
cp "$crash" crash.onnx
# The real kernels pass where the planted one fails.
"$qconform" replay crash.onnx --backend scalar --profile correctly-rounded >replay || { cat replay; exit 1; }
echo "canary: found after $((SECONDS - started)) s and $(grep -c '' log) lines of progress"
