#!/bin/bash
# Tests scripts/progress.sh and scripts/skipped-tests: exit codes, what is shown, and that nothing is left running.
#
# usage: progress_test.sh SOURCE_FOLDER
set -euo pipefail

scripts=$1/scripts
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "$*" >&2; exit 1; }

# The exit code is the command's, and the log has what it printed.
cat >build <<EOF
set -uo pipefail
source "$scripts/progress.sh"
progress_log=$folder/log
progress_run build "building it" sh -c 'echo "[1/2] Building a"; echo "a.cc:1: error"; exit 3'
status=\$?
echo "\$progress_done of \$progress_total"
exit \$status
EOF
status=0
bash build >out 2>err || status=$?
[[ $status -eq 3 ]] || fail "exit code $status, expected 3"
[[ $(<out) == "1 of 2" && $(<err) == "building it" ]] || fail "a build shows: $(cat out err)"
[[ $(<log) == $'[1/2] Building a\na.cc:1: error' ]] || fail "the log of a build: $(<log)"

# What tests print: failures and the summary, not what starts, passes or is skipped.
cat >ctest.txt <<'EOF'
      Start  1: a/passes
      Start  2: a/fails
1/3 Test  #1: a/passes ...............   Passed    1.00 sec
      Start  3: a/skips
2/3 Test  #2: a/fails ................***Failed    0.01 sec
the output of a/fails

3/3 Test  #3: a/skips ................***Skipped   0.01 sec

50% tests passed, 1 tests failed out of 3

The following tests did not run:
	  3 - a/skips (Skipped)

The following tests FAILED:
	  2 - a/fails (Failed)
EOF
cat >expected.txt <<'EOF'
2/3 Test  #2: a/fails ................***Failed    0.01 sec
the output of a/fails


50% tests passed, 1 tests failed out of 3

The following tests FAILED:
	  2 - a/fails (Failed)
EOF
cat >tests <<EOF
set -uo pipefail
source "$scripts/progress.sh"
progress_expect a/passes 900
progress_expect a/fails 100
progress_expect a/skips 1000
progress_run test "testing it" cat ctest.txt
SECONDS=20 progress_started=0
echo "\$(progress_rest) \$progress_cost_done" >&2
progress_cost_done=1000
progress_rest >&2
for seconds in 9 30 75 600 9000; do progress_duration \$seconds >&2; done
EOF
bash tests >out 2>err
diff expected.txt out || fail "the output of tests, see above"
diff - err <<'EOF' || fail "the time left, see above"
testing it
 2000
20
about 10 s left
about 35 s left
about 1 min left
about 10 min left
about 3 h left
EOF

# Whoever ends a script ends what it has started, below other scripts too, and gets the signal's exit code.
marker="98765.$$"
cat >inner <<EOF
set -uo pipefail
source "$scripts/progress.sh"
progress_guard
progress_run build "sleeping" sh -c 'sleep $marker & sleep $marker; true'
EOF
cat >outer <<EOF
set -uo pipefail
source "$scripts/progress.sh"
progress_guard
progress_call bash inner
EOF
running() {
  local file words count=0
  for file in /proc/[0-9]*/cmdline; do
    { mapfile -d '' -t words <"$file"; } 2>/dev/null || continue
    [[ ${words[0]-} != sleep || ${words[1]-} != "$marker" ]] || count=$((count + 1))
  done
  echo "$count"
}
for script in inner outer; do
  bash "$script" >out 2>&1 &
  for ((tries = 0; tries < 200; ++tries)); do
    [[ $(running) -ne 2 ]] || break
    sleep 0.1
  done
  kill -TERM $!
  status=0
  wait $! || status=$?
  [[ $status -eq 143 ]] || fail "$script: exit code $status, expected 143: $(<out)"
  [[ $(running) -eq 0 ]] || fail "$script left something running"
done

# What did not run, and why.
cat >tests.xml <<'EOF'
<testsuite>
  <testcase name="a_test/A.x" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>
[ RUN      ] A.x
/a_test.cc:7: Skipped
no emulator: scripts/install-packages emulators

[  SKIPPED ] A.x (0 ms)</system-out></testcase>
  <testcase name="a_test/A.y" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>
/a_test.cc:7: Skipped
no emulator: scripts/install-packages emulators

</system-out></testcase>
  <testcase name="cluster/slurm" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>private-slurm: not run: no munged
</system-out></testcase>
  <testcase name="gone" status="notrun"><skipped message="Unable to find executable"/></testcase>
  <testcase name="k_test/K.x/amx" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>
/k_test.cc:7: Skipped
kernel set amx: this CPU lacks it

</system-out></testcase>
</testsuite>
EOF
"$scripts/skipped-tests" --slow 8 "scripts/test --slow" tests.xml >out
diff - out <<'EOF' || fail "what is skipped, see above"
not run:
  2 tests (a_test): no emulator: scripts/install-packages emulators
  1 test (cluster/slurm): no munged
  1 test of kernel sets that this processor lacks: amx
  8 tests with the label slow: scripts/test --slow
EOF

# An installation: apt closes the descriptor of its status lines before it runs dpkg, whose scripts print all the same.
mkdir fake
cat >fake/apt-get <<'EOF'
#!/bin/bash
for option in "$@"; do [[ $option != APT::Status-Fd=* ]] || descriptor=${option#*=}; done
[[ " $* " == *" install "* ]] || exit 0
echo "pmstatus:a:50.0:Configuring a" >&"$descriptor"
eval "exec $descriptor>&-"
echo "Setting up a" # fails where nothing is open
EOF
printf '#!/bin/sh\nexit 1\n' >fake/dpkg-query
printf '#!/bin/sh\necho 0\n' >fake/id
chmod +x fake/*
PATH=$folder/fake:$PATH "$scripts/install-packages" format >out 2>err || fail "an installation fails: $(cat out err)"
[[ $(<out) == *$'\n'"installed "* ]] || fail "an installation says: $(<out)"
