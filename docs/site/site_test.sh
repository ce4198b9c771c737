#!/bin/bash
# Builds the site, and plants a dead link, a dead anchor and something to load from elsewhere in it, which must be noticed.
#
# usage: site_test.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail

source=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "$*" >&2; exit 1; }

if ! command -v mkdocs >/dev/null || [[ ! -d /usr/share/mkdocs/themes/material ]]; then
  echo "not run: mkdocs with its theme material is not here: scripts/install-packages docs"
  exit 77
fi
"$source/scripts/docs" --build "$build" --out "$folder/site"

# The generated pages are there, and search finds what they say.
for command in $("$build/bin/qconform" --help | sed -n '/^Subcommands:/,$p' | awk '/^  [a-z]/ {print $1}'); do
  [[ -f $folder/site/commands/qconform-$command.html ]] || fail "no page of the command $command"
done
for schema in "$build"/schema/*.schema.json; do
  name=$(basename "$schema" .schema.json)
  [[ -f $folder/site/schemas/$name.html ]] || fail "no page of the schema $name"
done
# listed TOPIC KEY: the page has a row for each entry that the program lists.
listed() {
  local names
  names=$("$build/bin/qconform" list "$1" --json | sed -n "s/^    \"$2\": \"\(.*\)\",\$/\1/p")
  [[ $(wc -w <<<"$names") -ge 50 ]] || fail "list $1 --json has few entries: $names"
  for name in $names; do
    grep -qF "<td><code>$name</code></td>" "$folder/site/lists/$1.html" || fail "lists/$1.html lacks $name"
  done
}
listed defects id
listed corner-cases name
index=$folder/site/search/search_index.json
grep -q 'commands/qconform-run.html#options' "$index" || fail "search does not know the options of run"
grep -q '"location":"numerics.html' "$index" || fail "search does not know docs/numerics.md"

# Every block of code of a page is one on the site.
for page in "$folder"/site-source/pages/*.md "$folder"/site-source/pages/{operators,tutorials}/*.md; do
  html=${page/site-source\/pages/site}
  html=${html%.md}.html
  blocks=$(grep -c '^ *~~~~[a-z]' "$page" || true)
  shown=$({ grep -o '<div class="highlight">' "$html" || true; } | wc -l)
  [[ $blocks -eq $shown ]] || fail "$html: $shown blocks of code, expected $blocks"
done

# plant EXPECTED HTML: adds HTML to the end of a page, in which the check has to name the problem.
expected=()
plant() {
  sed -i "s|</body>|$2</body>|" "$folder/planted/formats.html"
  expected+=("formats.html: $1")
}
cp -r "$folder/site" "$folder/planted"
plant "no file gone.html" '<a href="gone.html">x</a>'
plant "no anchor numerics.html#gone" '<a href="numerics.html#gone">x</a>'
plant "loads https://example.org/x.js" '<script src="https://example.org/x.js"></script>'
if "${PYTHON:-/usr/bin/python3}" "$source/docs/site/check_site.py" "$folder/planted" >"$folder/out"; then
  fail "what was planted is not noticed"
fi
for problem in "${expected[@]}"; do
  grep -qxF "$problem" "$folder/out" || { cat "$folder/out"; fail "not named: $problem"; }
done

# An output folder that is no site is left alone.
mkdir "$folder/precious"
touch "$folder/precious/file"
status=0
"$source/scripts/docs" --build "$build" --out "$folder/precious" 2>"$folder/out" || status=$?
[[ $status -eq 2 && -f $folder/precious/file ]] || fail "scripts/docs --out replaced a folder that is no site"
grep -q -- '--out' "$folder/out" || fail "the error does not name --out"
echo "the site is whole"
