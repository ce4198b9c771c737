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

# npm_newest SOURCE: the newest version of its package in the registry.
npm_newest() { npm view --silent "${1%@*}" version 2>/dev/null; }

# npm_words VERSION NEWER SOURCE INTEGRITY FILE: the words of a line of releases behind the library's name. The library is
# where the package has it for x64.
npm_words() {
  local new=$2 package=${3%@*} integrity file work
  need npm tar
  integrity=$(npm view --silent "$package@$new" dist.integrity)
  work=$(mktemp -d)
  file=$(cd "$work" && fetch_npm "$package@$new" "$integrity" && tar tzf "$npm_archive" | grep -E '/linux/x64/.*\.so[.0-9]*$' | grep -v providers | head -n 1)
  rm -rf "$work"
  [[ -n $file ]] || fail "$package $new has no library for x64"
  echo "$new npm:$package@$new $integrity ${file//\/x64\///MACHINE/}"
}
