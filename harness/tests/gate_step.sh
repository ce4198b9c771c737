#!/bin/bash
# Runs scripts/gate-step as a CI job does: exit codes, files, GitHub's summary and outputs.
#
# usage: gate_step.sh SOURCE_FOLDER QCONFORM
set -euo pipefail

step=$1/scripts/gate-step
export QCONFORM=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# expect CODE WHAT ARGUMENTS...: the step ends with that code; what it printed is in printed.txt.
expect() {
  local expected=$1 what=$2 status=0
  shift 2
  "$step" "$@" >printed.txt 2>&1 || status=$?
  [[ $status -eq $expected ]] || { cat printed.txt; echo "$what: exit code $status, expected $expected"; exit 1; }
}
demand() { grep -qF -- "$2" "$1" || { cat "$1"; echo "$1 does not hold: $2"; exit 1; }; }

cases=(--suite random --cases 80)
expect 0 "without a baseline" --backend scalar "${cases[@]}"
demand printed.txt "the run alone decides"
demand qconform-out/summary.txt "detection power on this contract: "
demand qconform-out/report.json '"power"'
expect 1 "without a baseline, a defect" --backend defect:half-away "${cases[@]}"
demand qconform-out/summary.md "qconform: does not conform"

expect 0 "to store a baseline" --backend scalar "${cases[@]}" --baseline ci/baseline.json --update-baseline
expect 0 "unchanged" --backend scalar "${cases[@]}" --baseline ci/baseline.json
demand printed.txt "gate passes: nothing changed"

# The defect in place of the kernel of the baseline.
sed 's/"scalar"/"defect:half-away"/' ci/baseline.json >ci/other.json
export GITHUB_SERVER_URL=https://forge.example GITHUB_REPOSITORY=mine/kernel GITHUB_RUN_ID=7 GITHUB_ACTIONS=true
export GITHUB_STEP_SUMMARY=$folder/step_summary.md GITHUB_OUTPUT=$folder/outputs
expect 1 "a defect" --backend defect:half-away "${cases[@]}" --baseline ci/other.json --out results --source src/mine.c:12
demand printed.txt "new-finding"
demand printed.txt "::error file=src/mine.c,line=12,title=qconform new-finding defect%3Ahalf-away "
demand results/qconform.sarif '"baselineState": "new"'
demand results/qconform.sarif '"uri": "src/mine.c"'
demand results/comment.md "[The report](https://forge.example/mine/kernel/actions/runs/7)"
demand results/comment.md "Wrong elements of an output"
demand results/gate.txt "gate fails"
demand results/junit.xml 'type="new-finding"'
demand results/comment.md "qconform gate fails"
demand step_summary.md "qconform gate fails"
# output NAME: its value, as a runner reads it from NAME<<END, the value's lines and END.
output() {
  awk -v name="$1" 'end != "" && $0 == end { end = ""; next }
                    end != "" { if (current == name) print; next }
                    { current = $0; sub(/<<.*/, "", current); end = substr($0, length(current) + 3) }' outputs
}
for line in report=results/report.json junit=results/junit.xml sarif=results/qconform.sarif comment=results/comment.md passes=false; do
  [[ $(output "${line%%=*}") == "${line#*=}" ]] || { cat outputs; echo "outputs do not hold: $line"; exit 1; }
done

# The name of a folder sets no output, whatever it holds.
rm outputs
evil=$'results\npasses=true\npasses<<x'
expect 1 "a folder with line breaks" --backend defect:half-away "${cases[@]}" --baseline ci/other.json --out "$evil"
[[ $(output report) == "$evil/report.json" && $(output passes) == false ]] || { cat outputs; exit 1; }
[[ -f $evil/report.json && -f $evil/comment.md ]]

# The commits under test, and not that of qconform.
own=$(sed -n 's/.*"commit": *"\([^"]*\)".*/\1/p' results/report.json | head -1)
GITHUB_SHA=aaaa1111 expect 0 "a baseline of a commit" --backend scalar "${cases[@]}" --baseline ci/named.json --update-baseline
expect 0 "a commit" --backend scalar "${cases[@]}" --baseline ci/named.json --commit bbbb2222
demand qconform-out/comment.md 'Your commit `bbbb2222` against the baseline of '
demand qconform-out/comment.md '(your commit `aaaa1111`), both judged by qconform '
[[ -n $own ]] && ! grep -qF "$own" qconform-out/comment.md
expect 0 "a commit, no baseline" --backend scalar "${cases[@]}" --commit cccc3333
demand qconform-out/comment.md 'Your commit `cccc3333`, judged by qconform '

expect 2 "no backend" --suite random
expect 2 "an option that there is not" --backend scalar --bogus 1
expect 2 "a backend that there is not" --backend nosuch "${cases[@]}"
echo '{}' >ci/broken.json
expect 2 "a broken baseline" --backend scalar "${cases[@]}" --baseline ci/broken.json
[[ ! -f qconform-out/gate.txt || ! -s qconform-out/gate.txt ]]

# Every option that action.yml passes is one of the step's.
for option in $(sed -n '/scripts\/gate-step/,$p' "$(dirname "$step")/../action.yml" | grep -oE -- '--[a-z-]+'); do
  demand <("$step" --help) "$option "
done
echo "the gate's step does what it says"
