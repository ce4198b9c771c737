# shellcheck shell=bash
# Takes a shared library out of a package of PyPI: wheel:PACKAGE==VERSION FILE HASH...
# FILE is its path in the wheel; the hashes are those of pypi.sh.

# shellcheck source=SCRIPTDIR/pypi.sh
source "$root/scripts/roots/pypi.sh"

# wheel_unpack NAME SOURCE FILE HASH... TARGET: fills the folder TARGET; works in the current folder, which is empty.
wheel_unpack() {
  local name=$1 file=$3 target=${*: -1}
  need python3
  python3 -m pip --version >/dev/null 2>&1 || fail "needs pip for python3 (Debian: python3-pip)"
  pypi_requirements "$2" "${@:4:$#-4}" >requirements.txt
  python3 -m pip download --quiet --no-deps --only-binary :all: --require-hashes --no-cache-dir --dest wheels \
    --requirement requirements.txt >log 2>&1 </dev/null || { cat log >&2; fail "pip cannot fetch $name, see above"; }
  python3 -m zipfile --extract wheels/*.whl unpacked
  [[ -f unpacked/$file ]] || fail "$2 lacks $file"
  install -D --mode 644 "unpacked/$file" "$target/lib/lib$name.so"
}

wheel_newest() { pypi_newest "$@"; }

# wheel_words VERSION NEWER SOURCE FILE HASH...: the words of a line of releases behind the library's name.
wheel_words() {
  local old=$1 new=$2 package=${3%%==*} file=$4 hashes
  hashes=$("$root/scripts/roots/pypi-hashes" "$package==$new") || fail "pip has no wheel of $package $new"
  echo "$new wheel:$package==$new ${file//"$old"/"$new"}${hashes#"$package==$new"}"
}
