#!/bin/bash
# Builds the image, and runs it: it judges the kernels and the libraries, as a user without rights.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
image=qconform-image-test
"$here/build-image" --image "$image" || exit $?
runner=''
for name in podman docker; do
  if command -v "$name" >/dev/null && "$name" image inspect "$image" >/dev/null 2>&1; then runner=$name && break; fi
done
[[ -n $runner ]] || { echo "container: built, not run: neither podman nor docker has the image"; exit 77; }
trap '"$runner" image rm --force "$image" >/dev/null 2>&1 || true' EXIT
[[ $("$runner" run --rm "$image" id -u) == 1000 ]] || { echo "container: the user is not 1000"; exit 1; }
status=0
output=$("$runner" run --rm "$image" 2>&1) || status=$?
echo "$output"
[[ $status -eq 0 ]] || { echo "container: exit code $status"; exit 1; }
grep -q '^conforms: scalar' <<<"$output"
grep -q '^onednn .* smallest cases wrong' <<<"$output"
