#!/bin/bash
# Builds the fuzz targets for ClusterFuzzLite and OSS-Fuzz: programs, seeds, dictionaries and options
# into $OUT. Takes CC, CXX, CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE from its environment; SRC_DIR and WORK
# are optional.
set -euo pipefail

root=${SRC_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
[[ -f $root/fuzz/CMakeLists.txt ]] || root=$SRC/qconform
work=${WORK:-$root/build}/oss-fuzz
: "${OUT:?the folder for the built targets}" "${LIB_FUZZING_ENGINE:?the fuzzing engine}" "${CXX:?the compiler}"

source "$root/fuzz/options.sh"
targets=$(sed -n 's/^qconform_fuzz_target(\([a-z_]*\).*/\1/p' "$root/fuzz/CMakeLists.txt")
mkdir -p "$OUT" "$work"

# The flags of the environment instrument and sanitize; ours would do it twice.
cmake -S "$root" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DQCONFORM_TESTS=OFF -DQCONFORM_FUZZ=ON \
  -DQCONFORM_FUZZ_FLAGS="" -DQCONFORM_FUZZING_ENGINE="$LIB_FUZZING_ENGINE"
# shellcheck disable=SC2086  # one word for each program
cmake --build "$work/build" --target fuzz_seeds $(printf 'fuzz_%s ' $targets)

rm -rf "$work/seeds"
"$work/build/bin/fuzz_seeds" "$root" "$work/seeds"
for target in $targets; do
  cp "$work/build/bin/fuzz_$target" "$OUT/$target"
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
