#!/bin/bash
# Runs the installed program where neither the source nor the build tree can be reached.
#
# usage: installed_tree.sh --build BUILD_FOLDER SOURCE_FOLDER    installs to a temporary prefix
#        installed_tree.sh --tree PREFIX SOURCE_FOLDER           takes an installed tree as it is
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source=$3
case "$1" in
  --build)
    prefix=$folder/prefix
    cmake --install "$2" --prefix "$prefix" >/dev/null
    ;;
  --tree) prefix=$2 ;;
  *) sed -n '2,5p' "$0" >&2; exit 2 ;;
esac

fail() { echo "$*" >&2; exit 1; }

# Nothing is left of the source tree in this view of the file system.
hidden() {
  unshare --map-root-user --mount sh -c 'mount -t tmpfs none "$1" && cd / && shift && exec "$@"' sh "$source" "$@"
}
if ! hidden true 2>/dev/null; then
  echo "not run: this system does not let a process have file systems of its own (unshare)"
  exit 77
fi
if hidden test -e "$source/CMakeLists.txt"; then fail "the source tree is still there"; fi

qconform=$prefix/bin/qconform
share=$prefix/share
hidden "$qconform" --version | grep -q '^qconform [0-9]'

# The corpus, by its name, and the waivers that come with the program.
hidden "$qconform" run --backend scalar --suite corpus --out "$folder/run" >"$folder/out" || { cat "$folder/out"; fail "the corpus"; }
grep -qE '^suite corpus +2,[0-9]{3} cases' "$folder/out" || { cat "$folder/out"; fail "the corpus is not whole"; }
small=$share/qconform/corpus/dequantize_linear/float4.json
hidden "$qconform" run --suite "$small" --no-explain --no-shrink --out "$folder/run" >"$folder/out" 2>&1 ||
  { cat "$folder/out"; fail "without --backend"; }
[[ -f $share/qconform/waivers/libraries.json && -f $share/qconform/schema/report-1.schema.json ]] || fail "waivers or schemas"
hidden "$share/qconform/gate-step" --qconform "$qconform" --backend scalar --suite "$small" --out "$folder/step" \
  --baseline "$folder/none.json" >/dev/null || fail "gate-step"

# A plugin, by pkg-config and by CMake.
cp "$source/harness/tests/plugins/dequantize.c" "$source/harness/examples/convolution.cc" "$folder"
if command -v pkg-config >/dev/null; then
  flags=$(PKG_CONFIG_PATH=$share/pkgconfig pkg-config --cflags qconform)
  # shellcheck disable=SC2086
  cc -shared -fPIC $flags "$folder/dequantize.c" -o "$folder/libmine.so"
  hidden "$qconform" run --backend "plugin:$folder/libmine.so" --suite "$share/qconform/corpus/dequantize_linear/values.json" \
    --out "$folder/run" >/dev/null || fail "a plugin built with pkg-config's flags"
  # shellcheck disable=SC2086
  c++ -std=c++17 -fsyntax-only $flags "$folder/convolution.cc" || fail "a plugin in C++ with pkg-config's flags"
fi
cat >"$folder/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(mine LANGUAGES C)
find_package(qconform REQUIRED)
add_library(mine MODULE dequantize.c)
target_link_libraries(mine PRIVATE qconform::backend)
EOF
cmake -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$prefix" >"$folder/out" 2>&1 &&
  cmake --build "$folder/build" >>"$folder/out" 2>&1 || { cat "$folder/out"; fail "a plugin built with CMake"; }

# A page for each command, without a warning from groff.
for command in $("$qconform" --help | sed -n '/^Subcommands:/,$p' | awk '/^  [a-z]/ {print $1}'); do
  [[ -f $share/man/man1/qconform-$command.1.gz ]] || fail "no manual page of $command"
done
if command -v groff >/dev/null; then
  for page in "$share"/man/man1/*.gz; do
    warnings=$(zcat "$page" | groff -man -Tutf8 -ww -z 2>&1)
    [[ -z $warnings ]] || fail "$page: $warnings"
  done
fi

# completed WORDS...: what bash offers for the last word.
completed() {
  bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _qconform; echo "${COMPREPLY[@]}"' bash \
    "$share/bash-completion/completions/qconform" "$@"
}
[[ $(completed qconform rep) == "replay report" ]] || fail "completion of commands: $(completed qconform rep)"
[[ $(completed qconform report ju) == "junit" ]] || fail "completion of a command's own commands"
[[ $(completed qconform run --backend scalar --sui) == "--suite" ]] || fail "completion of options"
[[ -z $(completed qconform run --out re) ]] || fail "an option's value is no command"
# The same of zsh, with its own functions in place of those that draw a menu.
zsh_completed() {
  zsh -f -c '_files() { print -r -- files }; _describe() { print -r -- ${(P)@[-1]%%:*} }; compdef() { : }
             source "$1"; shift; words=("$@"); CURRENT=$#; PREFIX=${words[-1]}; _qconform' zsh \
    "$share/zsh/vendor-completions/_qconform" "$@"
}
if command -v zsh >/dev/null; then
  cmp -s "$share"/zsh/{vendor-completions,site-functions}/_qconform || fail "two different completions for zsh"
  [[ " $(zsh_completed qconform rep) " == *" run fuzz replay "*" report "* ]] || fail "zsh: commands: $(zsh_completed qconform rep)"
  [[ $(zsh_completed qconform report ju) == "summary html junit sarif markdown matrix merge" ]] || fail "zsh: a command's own commands"
  [[ " $(zsh_completed qconform run --backend scalar --sui) " == *" --suite "* ]] || fail "zsh: options"
  [[ $(zsh_completed qconform run --out re) == files ]] || fail "zsh: an option's value is no command"
fi
if command -v fish >/dev/null; then fish --no-execute "$share/fish/vendor_completions.d/qconform.fish"; fi
echo "the installed tree works by itself"
