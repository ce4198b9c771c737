# shellcheck shell=bash
# Packages of PyPI, for a program of harness/backends/peers: pypi:PACKAGE==VERSION HASH... [PACKAGE==VERSION HASH...]...
# [+GROUP]... The hashes are those of the package's wheels, sha256; pip takes the one for this Python and processor, and
# nothing that is not named. +GROUP stands for a line of scripts/roots/pypi-groups. scripts/roots/pypi-hashes writes such
# text. The root gets the packages in site, and in python the path of the interpreter that they are for.

# pypi_requirements WORD...: as pip reads them.
pypi_requirements() {
  local word group
  for word; do
    case $word in
      +*)
        group=$(awk -v name="${word#+}" '$1 == name {$1 = ""; print}' "$root/scripts/roots/pypi-groups")
        [[ -n $group ]] || fail "scripts/roots/pypi-groups has no group \"${word#+}\""
        # shellcheck disable=SC2086
        pypi_requirements $group
        ;;
      *==*) printf '\n%s' "$word" ;;
      *) printf ' --hash=sha256:%s' "$word" ;;
    esac
  done
}

# pypi_unpack NAME SOURCE WORD... TARGET: fills the folder TARGET; works in the current folder, which is empty.
pypi_unpack() {
  local name=$1 target=${*: -1} python
  need python3
  python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
  "$python" -m pip --version >/dev/null 2>&1 || fail "needs pip for $python (Debian: python3-pip)"
  pypi_requirements "${@:2:$#-2}" >requirements.txt
  "$python" -m pip install --quiet --no-deps --only-binary :all: --require-hashes --no-cache-dir --no-warn-script-location \
    --root-user-action ignore --target "$target/site" --requirement requirements.txt >log 2>&1 </dev/null ||
    { cat log >&2; fail "pip cannot fetch $name, see above"; }
  echo "$python" >"$target/python"
}

# pypi_works TARGET: whether the interpreter that the packages are for is still there.
pypi_works() { [[ -x $(<"$1/python") ]]; }

# pypi_newest SOURCE: the newest version of its package that pip finds.
pypi_newest() {
  python3 -m pip index versions "${1%%==*}" 2>/dev/null | sed -n '1s/.*(\(.*\))$/\1/p'
}

# pypi_words VERSION NEWER SOURCE WORD...: the words of a line of releases behind the library's name. Packages of the old
# version get the new one, and others stay.
pypi_words() {
  local old=$1 new=$2 word package="" line="$2"
  for word in "${@:3}"; do
    case $word in
      *=="$old")
        package=${word%%==*}
        word=$("$root/scripts/roots/pypi-hashes" "$package==$new") || fail "pip has no wheel of $package $new"
        [[ $line != "$new" ]] || word=pypi:$word
        ;;
      *==* | +*) package="" ;;
      *) [[ -z $package ]] || continue ;;
    esac
    line+=" ${word% }"
  done
  echo "$line"
}
