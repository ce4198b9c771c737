# shellcheck shell=bash
# Takes a library out of a release of Debian: debian:SUITE PACKAGE=VERSION HEADERS...
# PACKAGE has the shared library, HEADERS are packages of headers. Beside the library come the libraries that it needs, the
# C library and its loader among them, all of that suite: the programs that scripts/build makes for the root run on these.

# debian_get PACKAGE[=VERSION]: unpacks it into the folder debs/PACKAGE.
debian_get() {
  local package=${1%%=*}
  [[ ! -d debs/$package ]] || return 0
  mkdir "debs/$package"
  (cd "debs/$package" && apt-get -qq -c ../../apt.conf download "$1" >../../log 2>&1) || return 1
  basename "debs/$package/"*.deb >>packages
  dpkg-deb -x "debs/$package/"*.deb "debs/$package"
  rm "debs/$package/"*.deb
}

# debian_lacks FOLDER MORE...: the libraries that those in FOLDER and in MORE need and that are not in FOLDER.
debian_lacks() {
  # readelf fails over what is no program or library, such as a script.
  { find "$@" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec readelf -d {} + 2>/dev/null || true; } | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u |
    while read -r soname; do [[ -e $1/$soname ]] || echo "$soname"; done
}

# debian_take PACKAGE FOLDER: moves the package's shared libraries there, whatever folders they were in, and looks into
# what the package depends on. Left out are plugins for character sets and for the transports of ucx, which want drivers of
# graphics processors.
debian_take() {
  local next file name shared=(\( -path '*/lib/*-linux-gnu*/lib*.so*' -o -path '*/usr/lib/lib*.so*' \) ! -path '*/gconv/*' ! -path '*/ucx/*' ! -name '*.py')
  { find "debs/$1" -type f "${shared[@]}" && find "debs/$1" -type l "${shared[@]}"; } | while read -r file; do
    name=$(basename "$file")
    if [[ -e $2/$name || -L $2/$name ]]; then
      : # one of several folders has it
    elif [[ -L $file ]]; then
      ln -s "$(basename "$(readlink "$file")")" "$2/$name"
    else
      mv "$file" "$2"
    fi
  done
  find "debs/$1" -name 'ld-linux-*.so.*' -type f -exec mv -t "$2" {} +
  for next in $(apt-cache -c apt.conf depends --important "$1" | sed -n 's/^ *|\{0,1\}\(Pre\)\{0,1\}Depends: \([^<]*\)$/\2/p'); do
    debian_get "$next" || fail "apt-get cannot fetch $next, on which $1 depends: $(<log)"
  done
}

# debian_complete PACKAGE FOLDER MORE...: takes what the libraries in FOLDER and in MORE need, out of the packages on which
# these depend.
debian_complete() {
  local main=$1 libraries=$2 lacks soname package found
  while lacks=$(debian_lacks "${@:2}") && [[ -n $lacks ]]; do
    found=
    for soname in $lacks; do
      package=$(find debs -name "$soname" -printf '%P\n' -quit)
      # One that is not there yet may be in a package that another one depends on.
      [[ -n $package && ! -e $libraries/$soname ]] || continue
      debian_take "${package%%/*}" "$libraries"
      [[ -e $libraries/$soname ]] || fail "$main needs $soname, which ${package%%/*} has where no library is expected"
      found=$soname
    done
    [[ -n $found ]] || fail "$main needs ${lacks%%$'\n'*}, which no package that it depends on has"
  done
}

# debian_unpack NAME SUITE PACKAGE=VERSION HEADERS... TARGET: fills the folder TARGET; works in the current folder, which is
# empty.
debian_unpack() {
  local suite=$2 main=$3 target=${!#} headers=("${@:4:$#-4}") libraries package
  need readelf
  mkdir debs
  private_apt "$PWD" "$(dpkg --print-architecture)" "$suite"
  libraries="$target/usr/lib/$(uname -m)-linux-gnu"
  mkdir -p "$libraries"
  debian_get "$main" || { cat log >&2; fail "$suite has no $main, see above; the library's file of releases may name an older build"; }
  debian_take "${main%%=*}" "$libraries"
  debian_complete "$main" "$libraries"
  for package in "${headers[@]}"; do
    debian_get "$package" || { cat log >&2; fail "$suite has no $package, see above"; }
    cp -r "debs/$package/usr/include" "$target/usr/"
  done
  cp packages "$target/PACKAGES"
}

# debian_newest SUITE PACKAGE=VERSION: the upstream version of the package in that release of Debian.
debian_newest() {
  local work version
  work=$(mktemp -d)
  private_apt "$work" "$(dpkg --print-architecture)" "$1"
  version=$(apt-cache -c "$work/apt.conf" policy "${2%%=*}" | sed -n 's/^ *Candidate: //p')
  rm -rf "$work"
  version=${version%%[+-]*} version=${version#*:}
  # A snapshot is named by its day.
  sed 's/.*~git\(....\)\(..\)\(..\).*/\1-\2-\3/' <<<"$version"
}
