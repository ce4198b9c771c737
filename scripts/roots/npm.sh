# shellcheck shell=bash
# Takes a shared library out of a package of the npm registry: npm:PACKAGE@VERSION INTEGRITY FILE.
# INTEGRITY is that of the registry; MACHINE in FILE stands for x64 or arm64.

# npm_unpack NAME SOURCE INTEGRITY FILE TARGET: fills the folder TARGET; works in the current folder, which is empty.
npm_unpack() {
  local machine archive got
  need npm openssl tar
  case $(uname -m) in
    x86_64) machine=x64 ;;
    aarch64) machine=arm64 ;;
    *) fail "$2 has no library for $(uname -m)" ;;
  esac
  local file=${4//MACHINE/$machine}
  npm pack --ignore-scripts "$2" >log 2>&1 </dev/null || { cat log >&2; fail "npm cannot fetch $2, see above"; }
  archive=$(echo *.tgz)
  got="sha512-$(openssl dgst -sha512 -binary "$archive" | base64 -w 0)"
  [[ $got == "$3" ]] || fail "$archive is not the file that was recorded: expected $3, got $got"
  mkdir -p "$5/lib"
  tar xzf "$archive" -O "$file" >"$5/lib/lib$1.so" || fail "$archive lacks $file"
}
