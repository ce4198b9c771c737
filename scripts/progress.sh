# shellcheck shell=bash
# Sourced by scripts: shows how far a long command is, and ends everything that the script has started when the script
# is ended.
#
#   source "$root/scripts/progress.sh"
#   progress_guard                                          # Ctrl-C and kill leave nothing running
#   progress_run build "building dev" ninja || status=$?    # COMMAND's exit code
#   progress_call "$root/scripts/build" dev                 # another script that shows its own progress
#
# The display goes to standard error: one line that is rewritten in place on a terminal, else, and where CI is set, a
# line every ten seconds. progress_log, where it is set, is the file that takes the output of a build or of apt.
shopt -s lastpipe # the loop that reads runs in this shell, which then handles signals at once

progress_log=${progress_log:-/dev/null}
progress_title=''
progress_unit=''
progress_done=0
progress_total=0
progress_started=0   # of what the time left is derived from
progress_drawn=0     # when the display was renewed
declare -A progress_cost=()    # test or object file -> about how long it takes, in hundredths of a second or any unit
declare -A progress_running=() # ctest's number of a test that runs -> its name and when it started
progress_cost_done=0
progress_cost_total=0
progress_on_screen=false
progress_reading=false
progress_signal=''
progress_in_place=false
if [[ -t 2 && ${TERM:-dumb} != dumb && ${CI:-false} == false ]]; then progress_in_place=true; fi

# progress_count 5 package -> "5 packages"
progress_count() {
  if [[ $1 -eq 1 ]]; then echo "1 $2"; else echo "$1 $2s"; fi
}

# 75 seconds -> "about 1 min left"
progress_duration() {
  local seconds=$1
  if ((seconds < 55)); then
    echo "about $(((seconds / 5 + 1) * 5)) s left"
  elif ((seconds < 5400)); then
    echo "about $(((seconds + 30) / 60)) min left"
  else
    echo "about $(((seconds + 1800) / 3600)) h left"
  fi
}

# Seconds that the rest takes at the rate so far; nothing while that means little. The rate is of what was to be
# expected, because tests, and sources compiled as one, take very different times; else of what is counted.
progress_rest() {
  local elapsed=$((SECONDS - progress_started)) part=$progress_done whole=$progress_total run cost
  if ((progress_cost_total > 0)); then
    part=$progress_cost_done whole=$progress_cost_total
    for run in "${progress_running[@]}"; do
      cost=${progress_cost[${run#* }]:-0}
      part=$((part + (cost < 100 * (SECONDS - ${run%% *}) ? cost : 100 * (SECONDS - ${run%% *}))))
    done
  fi
  if ((elapsed >= 5 && part * 100 >= whole && part < whole)); then echo $((elapsed * (whole - part) / part)); fi
}

progress_text() {
  local elapsed=$((SECONDS - progress_started)) text=$progress_title rest
  if ((progress_total == 0)); then
    echo "$text, $elapsed s"
    return
  fi
  if [[ $progress_unit == % ]]; then text+=": $((100 * progress_done / progress_total)) %"; else
    text+=": $progress_done of $progress_total $progress_unit"
  fi
  rest=$(progress_rest)
  [[ -z $rest ]] || text+=", $(progress_duration "$rest")"
  echo "$text"
}

progress_clear() {
  if $progress_on_screen; then printf '\r\e[K' >&2; fi
  progress_on_screen=false
}

# Prints a line of output, above the display.
progress_print() {
  progress_clear
  printf '%s\n' "$1"
}

progress_draw() {
  if $progress_in_place; then
    ((SECONDS > progress_drawn)) || return 0
    local size text columns=80
    size=$(stty size <&2 2>/dev/null) && ((${size#* } > 1)) && columns=${size#* }
    text=$(progress_text)
    printf '\r%s\e[K' "${text:0:columns-1}" >&2
    progress_on_screen=true
  else
    ((SECONDS - progress_drawn >= 10)) || return 0
    progress_text >&2
  fi
  progress_drawn=$SECONDS
}

# progress_phase TITLE UNIT: what is counted from now on.
progress_phase() {
  progress_title=$1 progress_unit=$2 progress_done=0 progress_total=0 progress_started=$SECONDS
}

# progress_expect NAME COST: for each test or object file, before they run or are built.
progress_expect() {
  progress_cost[$1]=$2
  progress_cost_total=$((progress_cost_total + $2))
}

# Each progress_line_KIND takes one line of output: it counts, and prints what a reader wants to see.
progress_line_plain() {
  progress_print "$1"
}

progress_line_log() {
  printf '%s\n' "$1" >>"$progress_log"
}

# Ninja's "[12/345] Building ...". It counts anew after it has run CMake.
progress_line_build() {
  printf '%s\n' "$1" >>"$progress_log"
  if [[ $1 =~ ^\[([0-9]+)/([0-9]+)\]\ ([^\ ]+\ [^\ ]+\ object\ )?([^\ ]+) ]]; then
    progress_cost_done=$((progress_cost_done + ${progress_cost[${BASH_REMATCH[4]}]:-0}))
    ((BASH_REMATCH[1] >= progress_done)) || progress_started=$SECONDS
    progress_done=${BASH_REMATCH[1]} progress_total=${BASH_REMATCH[2]}
  fi
}

# The output of `apt-get install` with status lines (APT::Status-Fd=1): "pmstatus:zlib1g:12.5:Unpacking zlib1g".
# progress_packages becomes what it says it installs: dependencies are counted.
progress_line_apt() {
  case $1 in
    dlstatus:* | pmstatus:*)
      local phase=fetching percent=${1#*:*:}
      [[ $1 == dlstatus:* ]] || phase=unpacking
      percent=${percent%%[.:]*}
      if [[ $progress_title != "$phase "* ]]; then progress_phase "$phase $progress_packages" %; fi
      progress_done=$percent progress_total=100
      ;;
    *)
      printf '%s\n' "$1" >>"$progress_log"
      if [[ $1 =~ ([0-9]+)\ newly\ installed ]]; then progress_packages=$(progress_count "${BASH_REMATCH[1]}" package); fi
      ;;
  esac
}

# ctest's " 12/345 Test #12: name ....   Passed". Tests that start, pass or are skipped are no news, nor is the list of
# those skipped, which scripts/skipped-tests tells with the reasons. All else comes through, the summary among it.
progress_skipped_list=false
progress_line_test() {
  local line=$1 run
  if [[ $line =~ ^\ *([0-9]+)/([0-9]+)\ +Test\ +#([0-9]+):\  ]]; then
    progress_done=${BASH_REMATCH[1]} progress_total=${BASH_REMATCH[2]}
    run=${progress_running[${BASH_REMATCH[3]}]:-}
    if [[ -n $run ]]; then progress_cost_done=$((progress_cost_done + ${progress_cost[${run#* }]:-0})); fi
    unset "progress_running[${BASH_REMATCH[3]}]"
    [[ ! $line =~ (\ Passed|\*\*\*Skipped)\ +[0-9.]+\ sec ]] || return 0
  fi
  if [[ $line =~ ^\ *Start\ +([0-9]+):\ (.*) ]]; then
    progress_running[${BASH_REMATCH[1]}]="$SECONDS ${BASH_REMATCH[2]}"
    return 0
  fi
  if [[ $line == 'The following tests did not run:' ]]; then progress_skipped_list=true; fi
  if $progress_skipped_list; then
    [[ -n $line ]] || progress_skipped_list=false
    return 0
  fi
  progress_print "$line"
}

# Reads output up to its end; renews the display every second meanwhile.
progress_read() {
  local kind=$1 line='' part='' status
  progress_reading=true
  while true; do
    status=0
    IFS= read -r -t 1 part || status=$?
    line+=$part
    [[ -z $progress_signal ]] || progress_stop "$progress_signal"
    if ((status > 128)); then # nothing for a second; the line may go on
      progress_draw
      continue
    fi
    if ((status == 0)) || [[ -n $line ]]; then "progress_line_$kind" "$line"; fi
    line=''
    ((status == 0)) || break
    progress_draw
  done
  progress_reading=false
  progress_clear
}

# progress_run KIND TITLE COMMAND...: runs COMMAND and shows how far it is. Its exit code is COMMAND's.
progress_run() {
  local kind=$1 status=0
  case $kind in
    build) progress_phase "$2" files ;;
    test)
      progress_phase "$2" tests
      progress_total=${#progress_cost[@]}
      ;;
    *) progress_phase "$2" '' ;;
  esac
  if ! $progress_in_place && [[ $kind == build || $kind == test ]]; then echo "$2" >&2; fi
  shift 2
  progress_drawn=$SECONDS
  "$@" 2>&1 </dev/null | progress_read "$kind" || status=$?
  progress_title=''
  return "$status"
}

# progress_call COMMAND...: runs a command that shows its own progress. Bash handles a signal at once while it waits for
# a command in the background, but only after a command in the foreground.
progress_call() {
  local status=0
  env --default-signal=INT,QUIT "$@" </dev/null &
  wait $! || status=$?
  return "$status"
}

# The processes that come from this one, by /proc: neither ps nor pgrep need be there.
progress_descendants() {
  local file line fields known=" $$ " grown=true
  local -A parent_of=()
  for file in /proc/[0-9]*/stat; do
    line=''
    { read -r line <"$file"; } 2>/dev/null || true
    read -r -a fields <<<"${line##*) }" # behind its name: state, parent, ...
    if [[ ${#fields[@]} -gt 1 && ${fields[0]} != Z ]]; then parent_of[${line%% *}]=${fields[1]}; fi # else it has ended
  done
  while $grown; do
    grown=false
    for file in "${!parent_of[@]}"; do
      if [[ $known == *" ${parent_of[$file]} "* && $known != *" $file "* ]]; then
        known+="$file "
        grown=true
      fi
    done
  done
  echo "${known#" $$ "}"
}

# Ends what this script has started, then the script.
progress_stop() {
  local signal=$1 pid pids=() found tries left
  trap '' INT TERM HUP
  progress_clear
  [[ $signal == INT || -z $progress_title ]] || echo "$(progress_text): ended by SIG$signal" >&2
  # A process that is stopped starts no child that the list would miss.
  for ((tries = 0; tries < 10; ++tries)); do
    read -r -a found <<<"$(progress_descendants)"
    [[ ${#found[@]} -gt ${#pids[@]} ]] || break
    pids=("${found[@]}")
    kill -STOP "${pids[@]}" 2>/dev/null || true
  done
  kill -TERM "${pids[@]}" 2>/dev/null || true
  kill -CONT "${pids[@]}" 2>/dev/null || true
  for ((tries = 0; tries < 50; ++tries)); do
    left=()
    for pid in "${pids[@]}"; do
      if [[ -e /proc/$pid ]] && ! grep -qs '^State:.Z' "/proc/$pid/status"; then left+=("$pid"); fi
    done
    [[ ${#left[@]} -gt 0 ]] || break
    sleep 0.1
  done
  [[ ${#left[@]} -eq 0 ]] || kill -KILL "${left[@]}" 2>/dev/null || true
  trap - INT TERM HUP
  # A shell that called this script stops at Ctrl-C only if SIGINT ended the script. `exit` runs the EXIT trap.
  [[ $signal != INT ]] || kill -INT $$
  exit $((128 + $(kill -l "$signal")))
}

# Bash runs a handler inside of `read`, where it cannot read /proc: progress_read looks at progress_signal instead.
progress_caught() {
  progress_signal=$1
  $progress_reading || progress_stop "$1"
}

progress_guard() {
  local signal
  for signal in INT TERM HUP; do
    # shellcheck disable=SC2064
    trap "progress_caught $signal" "$signal"
  done
}
