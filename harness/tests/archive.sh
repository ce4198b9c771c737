#!/bin/bash
# Runs the archive of a release where neither the sources nor the libraries that it judges are: the program finds what it
# carries, says which libraries are missing, and the command quickstart judges the kernels of this CPU.
#
# usage: archive.sh ARCHIVE SOURCE_FOLDER
set -euo pipefail

archive=$(readlink -f "$1")
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$*" >&2; exit 1; }

tar -xzf "$archive" -C "$folder"
tree=$(echo "$folder"/qconform-*)
program=$tree/bin/qconform

# Each carried library is found in the archive, whichever library asks for it.
while read -r name place; do
  [[ ! -e $tree/lib/qconform/$name || $(readlink -f "$place") == "$tree/lib/qconform/$name" ]] ||
    fail "$name is carried, but $place is used"
done < <(ldd "$program" | awk '$2 == "=>" { print $1, $3 }')
[[ $(find "$tree/share/doc/qconform/licences" -type f | wc -l) -ge 3 ]] || fail "the licences of carried libraries are missing"

# A view of the file system without the sources, and without any libraries of which qconform has adapters.
hidden() {
  # shellcheck disable=SC2016
  unshare --map-root-user --mount bash -c '
    mount -t tmpfs none "$1"
    for file in /usr/lib/*/lib{dnnl,XNNPACK,opencv_dnn,onnx,onnx_proto,protobuf,fmt,tinyxml2}.so.*; do
      [[ ! -f $file ]] || mount --bind /dev/null "$file"
    done
    cd "$2" && shift 2 && exec "$@"' bash "$source" "$folder" "$@"
}
if ! hidden true 2>/dev/null; then
  echo "not run: this system does not let a process have file systems of its own (unshare)"
  exit 77
fi

# Here, where libraries are installed, every module loads.
"$program" doctor >"$folder/here"
for module in "$tree"/lib/qconform/*.so; do
  name=$(basename "$module" .so)
  grep -qE "^(libraries)? +$name [0-9]" "$folder/here" || { cat "$folder/here"; fail "the module $name does not load"; }
done
hidden "$program" doctor >"$folder/doctor"
for name in $("$program" list libraries | cut -d " " -f 1); do
  [[ ! -f $tree/lib/qconform/$name.so ]] || grep -q "$name missing: " "$folder/doctor" ||
    { cat "$folder/doctor"; fail "what $name lacks is not said"; }
done
env -u ONNXRUNTIME_ROOT CI=true bash -c "$(declare -f hidden); source=$source folder=$folder; hidden '$tree/quickstart'" \
  >"$folder/out" 2>&1 || { cat "$folder/out"; fail "quickstart"; }
grep -q '^conforms: scalar' "$folder/out" || { cat "$folder/out"; fail "quickstart judges no kernels"; }
[[ -f $folder/qconform-reports/run/report.json ]] || fail "quickstart writes no report"
echo "the archive works by itself"
