# shellcheck shell=bash
# Takes a shared library out of a package of the npm registry: npm:PACKAGE@VERSION INTEGRITY FILE.
# INTEGRITY is that of the registry; MACHINE in FILE stands for x64 or arm64.

# npm_unpack NAME SOURCE INTEGRITY FILE TARGET: fills the folder TARGET; works in the current folder, which is empty.
npm_unpack() {
  local machine
  case $(uname -m) in
    x86_64) machine=x64 ;;
    aarch64) machine=arm64 ;;
    *) fail "$2 has no library for $(uname -m)" ;;
  esac
  fetch_npm "$2" "$3"
  mkdir -p "$5/lib"
  tar xzf "$npm_archive" -O "${4//MACHINE/$machine}" >"$5/lib/lib$1.so" || fail "$npm_archive lacks ${4//MACHINE/$machine}"
}
