# shellcheck shell=bash
# Packages of Python out of a release of Debian, for a program of harness/backends/peers, with that release's interpreter, C
# library and loader: debian-python:SUITE PACKAGE=VERSION PYTHON PACKAGES...
# PACKAGE is the runtime's, PYTHON the interpreter, "3.13" say, and PACKAGES what the runtime imports: only what is named is
# unpacked, beside the shared libraries that it needs. The root gets the packages in site, and in python the interpreter.

# shellcheck source=SCRIPTDIR/debian.sh
source "$root/scripts/roots/debian.sh"

# debian-python_unpack NAME SUITE PACKAGE=VERSION PYTHON PACKAGES... TARGET: fills the folder TARGET; works in the current
# folder, which is empty.
debian-python_unpack() {
  local suite=$2 main=$3 python=$4 target=${!#} packages=("$3" "${@:5:$#-5}") libraries package
  need readelf
  mkdir debs
  private_apt "$PWD" "$(dpkg --print-architecture)" "$suite"
  libraries="$target/usr/lib/$(uname -m)-linux-gnu"
  mkdir -p "$libraries" "$target/bin" "$target/usr/bin"
  for package in "python$python-minimal" "libpython$python-minimal" "libpython$python-stdlib" "${packages[@]}"; do
    debian_get "$package" || { cat log >&2; fail "$suite has no $package, see above; the library's file of releases may name an older build"; }
    debian_take "${package%%=*}" "$libraries"
    cp -r "debs/${package%%=*}/usr/lib/." "$target/usr/lib/"
  done
  cp "debs/python$python-minimal/usr/bin/python$python" "$target/usr/bin/"
  debian_complete "$main" "$libraries" "$target/usr/bin" "$target/usr/lib/python$python" "$target/usr/lib/python3"
  ln -s usr/lib/python3/dist-packages "$target/site"
  # --argv0 is where Python looks for its own files from.
  cat >"$target/bin/python" <<PROGRAM
#!/bin/sh
root=\$(cd "\$(dirname "\$0")/.." && pwd)
libraries="\$root/usr/lib/$(uname -m)-linux-gnu"
exec "\$libraries"/ld-linux-*.so.* --library-path "\$libraries" --argv0 "\$root/usr/bin/python$python" "\$root/usr/bin/python$python" "\$@"
PROGRAM
  chmod +x "$target/bin/python"
  echo bin/python >"$target/python"
  cp packages "$target/PACKAGES"
}

debian-python_newest() { debian_newest "$@"; }
