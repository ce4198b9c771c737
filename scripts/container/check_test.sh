#!/bin/bash
# The Containerfile has no mistake, and the check finds the mistakes that are planted here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$here/check" || exit $?

# planted SED_SCRIPT MESSAGE: the check fails, and says so.
planted() {
  sed "$1" "$here/Containerfile" >"$folder/Containerfile"
  ! cmp -s "$folder/Containerfile" "$here/Containerfile" || { echo "nothing is planted by $1"; exit 1; }
  if "$here/check" "$folder/Containerfile" >"$folder/out" 2>&1 || ! grep -qF "$2" "$folder/out"; then
    cat "$folder/out"
    echo "not found: $2"
    exit 1
  fi
}
planted 's/^USER.*//' "the image runs as root"
planted 's/^USER.*/USER 0:0/' "the image runs as root"
planted 's/^WORKDIR/WORKDIRECTORY/' "Unknown instruction: WORKDIRECTORY"
planted 's/--from=build/--from=builder/' "no stage is called builder"
planted 's/^FROM debian:12-slim/FROM debian:sid/' "the base is debian:sid, not Debian 12"
planted 's#scripts/archive#scripts/archives#' "scripts/archives is not in the source tree"
planted 's#scripts/packages #scripts/package #' "scripts/package is not in the source tree"
planted '/^CMD/d' "the image does not run quickstart"
