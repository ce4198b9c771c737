cmake_minimum_required(VERSION 3.25)
# Run at every build: writes the commit into a source file, and touches the file only when it changed.
execute_process(COMMAND git -C "${SOURCE_DIR}" describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT
"#include \"harness/core/version.h\"
namespace qconform {
const char* const kCommit = \"@commit@\";
}  // namespace qconform
")
