#!/bin/bash
# Builds the fuzz targets for ClusterFuzzLite and OSS-Fuzz: programs, seeds, dictionaries and options
# into $OUT. Takes CXX, CXXFLAGS and LIB_FUZZING_ENGINE from its environment; WORK, for what is built on the
# way, is build/ where it is not stated.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[[ -f $root/fuzz/CMakeLists.txt ]] || root=$SRC/qconform  # the container runs a copy of this file
work=${WORK:-$root/build}/oss-fuzz
: "${OUT:?the folder for the built targets}" "${LIB_FUZZING_ENGINE:?the fuzzing engine}" "${CXX:?the compiler}"

source "$root/fuzz/options.sh"
targets=$(sed -n 's/^qconform_fuzz_target(\([a-z_]*\).*/\1/p' "$root/fuzz/CMakeLists.txt")
mkdir -p "$OUT" "$work"

# The distribution's libraries are built with libstdc++; OSS-Fuzz asks for libc++.
export CXXFLAGS=${CXXFLAGS:-}
CXXFLAGS=${CXXFLAGS//-stdlib=libc++/}
cmake -S "$root" -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=None -DQCONFORM_TESTS=OFF -DQCONFORM_FUZZ=ON \
  -DQCONFORM_FUZZING_ENGINE="$LIB_FUZZING_ENGINE"
# shellcheck disable=SC2086  # one word for each program
cmake --build "$work" --target fuzz_seeds $(printf 'fuzz_%s ' $targets)

rm -rf "$work/seeds"
"$work/bin/fuzz_seeds" "$root" "$work/seeds"
for target in $targets; do
  cp "$work/bin/fuzz_$target" "$OUT/$target"
  if [[ -d $root/corpus/regressions/$target ]]; then
    cp "$root/corpus/regressions/$target/"* "$work/seeds/$target/"
  fi
  rm -f "$OUT/${target}_seed_corpus.zip"
  (cd "$work/seeds/$target" && zip -q -r "$OUT/${target}_seed_corpus.zip" .)
  {
    echo "[libfuzzer]"
    # -dict=FOLDER/x.dict becomes dict = x.dict, which lies beside the program.
    fuzz_options "$target" | tr ' ' '\n' | sed -n 's/^-dict=.*\/\(.*\)$/dict = \1/p; s/^-\(max_len\|len_control\|timeout\|rss_limit_mb\)=/\1 = /p'
  } >"$OUT/$target.options"
  if [[ -f $root/fuzz/dictionaries/$target.dict ]]; then cp "$root/fuzz/dictionaries/$target.dict" "$OUT/"; fi
done
