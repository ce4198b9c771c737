#!/bin/bash
# scripts/judge-machine, which quickstart and the archive of a release share: what is shown, and the exit codes.
#
# usage: judge_machine_test.sh SOURCE_FOLDER QCONFORM
set -euo pipefail

source=$1
qconform=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { cat "$folder/out"; echo "$*" >&2; exit 1; }
export CI=true # no display that is rewritten in place

# An installed tree whose program judges few cases, because the conformance suite takes a minute on all backends.
share=$folder/tree/share/qconform
mkdir -p "$folder/tree/bin" "$share"
cp "$source"/scripts/{judge-machine,library-cases,progress.sh} "$share"
ln -s "$source/corpus" "$share/corpus"
cat >"$folder/tree/bin/qconform" <<EOT
#!/bin/bash
words=("\$@")
for i in "\${!words[@]}"; do
  case \${words[i]} in
    conformance) words[i]=$source/corpus/dequantize_linear/float4.json ;;
    corpus) words[i]=$source/corpus/regressions/backends/onednn.json ;;
  esac
done
# What is found need not be explained.
[[ \$1 != run ]] || words+=(--no-explain --no-shrink)
exec "$qconform" "\${words[@]}"
EOT
chmod +x "$folder/tree/bin/qconform"
cd "$folder"

status=0
"$share/judge-machine" >out 2>&1 || status=$?
[[ $status -eq 0 ]] || fail "exit code $status"
grep -q '^Kernels of this CPU on the conformance suite:' out || fail "no step 2"
grep -q '^conforms: scalar' out || fail "scalar is not judged"
[[ -f qconform-reports/run/report.json ]] || fail "no report"
if grep -q '^onednn  *available ' <<<"$("$qconform" list backends)"; then
  grep -q '^onednn .* gets [1-9][0-9]* of the [0-9]* smallest cases wrong' out || fail "what oneDNN gets wrong is not shown"
fi
"$share/judge-machine" --minimal >out 2>&1 || fail "--minimal"
! grep -q '^Released libraries' out || fail "--minimal judges libraries alone"

# With arguments, a run of the whole suite, and of ONNX's own node tests: its output, and its exit code.
"$source/scripts/judge-machine" --program "$qconform" --backend scalar --out "$folder/scalar" --brief >out 2>&1 || fail "scalar"
grep -q '^conforms: scalar' out || fail "the run's output is not shown"
status=0
"$share/judge-machine" --backend defect:half-away >out 2>&1 || status=$?
[[ $status -eq 1 ]] || fail "exit code $status of a backend that does not conform"
status=0
"$share/judge-machine" --backend nothing >out 2>&1 || status=$?
[[ $status -eq 2 ]] || fail "exit code $status of wrong use"
