# shellcheck shell=bash
# What scripts share that fetch packages and leave the system as it is. Each of them defines fail MESSAGE, which ends it.

# need TOOL...
need() {
  local tool
  for tool; do command -v "$tool" >/dev/null || fail "needs $tool"; done
}

# fetch_npm PACKAGE@VERSION INTEGRITY: puts the package's archive into the current folder and its name into npm_archive.
# INTEGRITY is that of the registry. No script of the package runs.
fetch_npm() {
  local got log
  need npm openssl
  log=$(npm pack --ignore-scripts --silent "$1" 2>&1 </dev/null) || { echo "$log" >&2; fail "npm cannot fetch $1, see above"; }
  npm_archive=${log##*$'\n'}
  got="sha512-$(openssl dgst -sha512 -binary "$npm_archive" | base64 -w 0)"
  [[ $got == "$2" ]] || fail "$npm_archive is not the file that was recorded: expected $2, got $got"
}

# private_apt FOLDER ARCHITECTURE [SUITE [TYPES]]: writes FOLDER/apt.conf, for apt-get -qq -c FOLDER/apt.conf, with lists,
# caches and state in FOLDER; reads the lists. SUITE is a release of Debian, from the mirror that the system's apt uses and
# checked with the system's keys; one that is signed with a key that is not among them is refused: a newer
# debian-archive-keyring has it. Without SUITE: the system's releases. TYPES: "deb", or "deb deb-src" for sources too.
private_apt() {
  local folder=$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg sources=/etc/apt/sources.list.d/debian.sources site log type
  need apt-get apt-cache dpkg-deb
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" "$folder/state"
  : >"$folder/state/status"
  if [[ -n ${3:-} ]]; then
    [[ -f $keys ]] || fail "needs $keys, which checks what is fetched (Debian: debian-archive-keyring)"
    site=$(apt-get indextargets --format '$(SITE) $(COMPONENT)' 'Created-By: Packages' | sed -n 's|\(.*/debian/\{0,1\}\) main$|\1|p' | head -n 1)
    [[ -n $site ]] || fail "apt has no Debian mirror (run apt-get update)"
    sources="$folder/private.list"
    for type in ${4:-deb}; do echo "$type [signed-by=$keys] $site $3 main"; done >"$sources"
  fi
  cat >"$folder/apt.conf" <<CONFIGURATION
Dir::State "$folder/state";
Dir::State::status "$folder/state/status";
Dir::State::lists "$folder/lists";
Dir::Cache "$folder/cache";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Acquire::Languages "none";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Architecture "$2";
APT::Architectures "$2";
APT::Sandbox::User "$(id -un)";
APT::Update::Error-Mode "any";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
CONFIGURATION
  # Other vendors' sources need not have the architecture: Debian's own suffice.
  [[ ! -f $sources ]] || printf '%s\n' "Dir::Etc::sourcelist \"$sources\";" 'Dir::Etc::sourceparts "/dev/null";' >>"$folder/apt.conf"
  log=$(apt-get -qq -c "$folder/apt.conf" update 2>&1 </dev/null) || { echo "$log" >&2; fail "apt-get cannot read the packages of ${3:-the system}, see above"; }
}

# relative_links FOLDER: makes absolute links relative in a system that is unpacked in FOLDER: they would lead out of it.
relative_links() {
  local link target
  while IFS= read -r -d '' link; do
    target=$(readlink "$link")
    if [[ -e $1$target ]]; then ln -sfn "$(realpath --relative-to="$(dirname "$link")" "$1$target")" "$link"; fi
  done < <(find "$1" -type l -lname '/*' -print0)
}
