# What every run of a libFuzzer target uses; sourced by scripts/fuzz and the tests.

# AddressSanitizer keeps freed memory back, 256 MB of it by default. The bound on memory below is for what a
# target uses, so only a part of that may be spent on it.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=64

# The options of one target, as words: bounds on one input's time (s), memory (MB) and size (bytes).
fuzz_options() {
  local dictionary
  dictionary=$(dirname "${BASH_SOURCE[0]}")/dictionaries/$1.dict
  echo -timeout=1 -rss_limit_mb=512 -print_final_stats=1
  case $1 in
    # Mutants are as large as their shapes say, from the first one on.
    differential | canary | graphs) echo -max_len=16384 -len_control=0 ;;
    admissible_set) echo -max_len=64 -len_control=0 ;;
    *) echo -max_len=8192 ;;
  esac
  if [[ -f $dictionary ]]; then echo "-dict=$dictionary"; fi
}
