#!/bin/bash
# kernels_test ROOT PROGRAM in the emulated machine: the kernel sets in encodings that this processor may lack.
set -euo pipefail

root=$1 program=$2
[[ -f ${QCONFORM_BOCHS:-$root/build/bochs}/RECIPE ]] || { echo "skipped: Bochs is not in build/bochs: scripts/get-bochs"; exit 77; }
out=$("$root/scripts/bochs-run" --cpu sapphire_rapids --timeout 7000 "$program" --gtest_filter='*/avxvnni:*/avx512vl:*/avx512vnni')
echo "$out"
# A set that is skipped is not tested.
! grep -q 'SKIPPED' <<<"$out"
grep -q 'PASSED' <<<"$out"
