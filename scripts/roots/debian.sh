# shellcheck shell=bash
# Takes a library out of a release of Debian: debian:SUITE PACKAGE=VERSION HEADERS...
# PACKAGE has the shared library, HEADERS are packages of headers. Beside the library come the libraries that it needs, the
# C library and its loader among them, all of that suite: the programs that scripts/build makes for the root run on these.
#
# apt works with lists, caches and settings of its own, and the system's keys of Debian's archives. A suite that is signed
# with a key that is not among them is refused: a newer debian-archive-keyring has it.

debian_keys=/usr/share/keyrings/debian-archive-keyring.gpg

# debian_configure SUITE: the settings, in the current folder.
debian_configure() {
  mkdir -p lists/partial cache/archives/partial state debs
  : >state/status
  cat >suite.sources <<SOURCES
Types: deb
URIs: ${QCONFORM_DEBIAN_MIRROR:-http://deb.debian.org/debian}
Suites: $1
Components: main
Signed-By: $debian_keys
SOURCES
  cat >apt.conf <<CONFIGURATION
Dir::Etc::sourcelist "$PWD/suite.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "$PWD/state";
Dir::State::status "$PWD/state/status";
Dir::State::lists "$PWD/lists";
Dir::Cache "$PWD/cache";
Acquire::Languages "none";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Sandbox::User "$(id -un)";
APT::Update::Error-Mode "any";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
CONFIGURATION
}

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

# debian_lacks FOLDER: the libraries that those in FOLDER need and that are not there.
debian_lacks() {
  find "$1" -type f -exec readelf -d {} + 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | sort -u |
    while read -r soname; do [[ -e $1/$soname ]] || echo "$soname"; done
}

# debian_take PACKAGE FOLDER: moves the package's shared libraries there, and looks into what the package depends on.
debian_take() {
  local next
  find "debs/$1" -path '*/lib/*-linux-gnu*/lib*.so*' ! -path '*/gconv/*' ! -name '*.py' -exec mv -t "$2" {} +
  find "debs/$1" -name 'ld-linux-*.so.*' -type f -exec mv -t "$2" {} +
  for next in $(apt-cache -c apt.conf depends --important "$1" | sed -n 's/^ *|\{0,1\}\(Pre\)\{0,1\}Depends: \([^<]*\)$/\2/p'); do
    debian_get "$next" || fail "apt-get cannot fetch $next, on which $1 depends: $(<log)"
  done
}

# debian_unpack NAME SUITE PACKAGE=VERSION HEADERS... TARGET: fills the folder TARGET; works in the current folder, which is
# empty.
debian_unpack() {
  local suite=$2 main=$3 target=${!#} headers=("${@:4:$#-4}") libraries package soname lacks
  need apt-get apt-cache dpkg-deb readelf
  [[ -f $debian_keys ]] || fail "lacks $debian_keys, with which Debian's archives are signed (package debian-archive-keyring)"
  debian_configure "$suite"
  apt-get -qq -c apt.conf update >log 2>&1 || { cat log >&2; fail "cannot read the packages of $suite, see above"; }
  libraries="$target/usr/lib/$(uname -m)-linux-gnu"
  mkdir -p "$libraries"
  debian_get "$main" || { cat log >&2; fail "$suite has no $main, see above; scripts/library-releases may name an older build"; }
  debian_take "${main%%=*}" "$libraries"
  while lacks=$(debian_lacks "$libraries") && [[ -n $lacks ]]; do
    soname=${lacks%%$'\n'*}
    package=$(find debs -name "$soname" -printf '%P\n' -quit)
    [[ -n $package ]] || fail "$main needs $soname, which no package that it depends on has"
    debian_take "${package%%/*}" "$libraries"
  done
  for package in "${headers[@]}"; do
    debian_get "$package" || { cat log >&2; fail "$suite has no $package, see above"; }
    cp -r "debs/$package/usr/include" "$target/usr/"
  done
  cp packages "$target/PACKAGES"
}
