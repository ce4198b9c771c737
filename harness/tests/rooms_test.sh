#!/bin/bash
# Whether the lowest rooms of the harness include nothing of those above them (docs/architecture.md).
# usage: rooms_test.sh SOURCE_DIRECTORY
set -euo pipefail
cd "$1"

failed=0
# check ROOM ALLOWED: includes of the project in ROOM that do not match the regular expression ALLOWED.
check() {
  local strays
  strays=$(grep -rnE '^#include "' "$1" --include='*.h' --include='*.cc' --include='*.inc' |
    grep -vE "_test\\.cc:|/tests/[^:]*:|#include \"($2)" || true)
  [[ -z $strays ]] && return
  printf '%s includes what lies above it:\n%s\n' "$1" "$strays"
  failed=1
}

check reference 'reference/'
check harness/base 'harness/base/'
# Of describe the macros that declare members; of hazards their list and what a report counts of them.
check harness/core 'harness/(base|core)/|harness/describe/fields\.h|harness/hazards/coverage\.h|reference/numerics/'
exit "$failed"
