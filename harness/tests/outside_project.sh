#!/bin/bash
# Gates a kernel of another project: stores a baseline, passes, breaks the kernel, fails. With the installed package of CMake
# and, where no test may be built and no library of qconform's own searched for, with the sources in the other project.
#
# usage: outside_project.sh BUILD_FOLDER SOURCE_FOLDER
set -euo pipefail

build=$1 source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$*" >&2; [[ ! -f $folder/out ]] || cat "$folder/out" >&2; exit 1; }
step() { "$@" >"$folder/out" 2>&1; }

# gated NAME CMAKE_ARGUMENT...
gated() {
  local mine=$folder/$1
  shift
  mkdir "$mine"
  cp "$source/harness/tests/outside/CMakeLists.txt" "$source/harness/tests/plugins/dequantize.c" "$mine"
  step cmake -S "$mine" -B "$mine/build" "$@" || fail "$mine: does not configure"
  step cmake --build "$mine/build" || fail "$mine: does not build"
  step cmake --build "$mine/build" --target update-kernel || fail "$mine: no baseline can be stored"
  [[ $(wc -l <"$mine/ci/baseline.json") -lt 200 ]] || fail "the baseline has $(wc -l <"$mine/ci/baseline.json") lines"
  ! grep -q "$folder" "$mine/ci/baseline.json" || fail "the baseline names a folder of this machine"
  step ctest --test-dir "$mine/build" -L conformance --output-on-failure || fail "$mine: an unchanged kernel fails"
  sed -i 's/(float)(codes\[i\] - zero_point) \* scale/codes[i] * scale - zero_point * scale/' "$mine/dequantize.c"
  step cmake --build "$mine/build" || fail "$mine: does not build again"
  ! step ctest --test-dir "$mine/build" -R '^kernel$' --output-on-failure || fail "$mine: a broken kernel passes"
  grep -q 'new-finding *libmine.so DequantizeLinear dq-expanded' "$folder/out" || fail "$mine: the gate does not say why"
  cp "$mine/ci/baseline.json" "$folder/before.json"
  step cmake --build "$mine/build" --target update-kernel || fail "$mine: no new baseline can be stored"
  local lines
  lines=$({ diff "$folder/before.json" "$mine/ci/baseline.json" || true; } | wc -l)
  [[ $lines -lt 20 ]] || fail "the baseline's diff after one defect has $lines lines"
}

prefix=$folder/prefix
step cmake --install "$build" --prefix "$prefix" || fail "cmake --install"
gated installed -DCMAKE_PREFIX_PATH="$prefix"
without=()
for package in Protobuf ONNX nlohmann_json CLI11 fmt tl-expected tinyxml2 ZLIB GTest Threads; do
  without+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
done
gated sources -DQCONFORM_SOURCES="$source" -DQCONFORM_EXECUTABLE="$prefix/bin/qconform" "${without[@]}"

# Without a program the test is there, and not run.
mkdir "$folder/without"
cp "$source/harness/tests/outside/CMakeLists.txt" "$source/harness/tests/plugins/dequantize.c" "$folder/without"
step cmake -S "$folder/without" -B "$folder/without/build" -DQCONFORM_SOURCES="$source" -DQCONFORM_EXECUTABLE="" ||
  fail "does not configure without a program"
step cmake --build "$folder/without/build" || fail "does not build without a program"
step ctest --test-dir "$folder/without/build" || true
grep -q 'kernel .*Not Run (Disabled)' "$folder/out" || fail "a gate that cannot run is not told so"

if command -v pkg-config >/dev/null; then
  program=$(PKG_CONFIG_PATH=$prefix/share/pkgconfig pkg-config --variable=bindir qconform)/qconform
  step "$program" --version || fail "pkg-config's bindir has no program: $program"
fi
echo "another project gates its kernel"
