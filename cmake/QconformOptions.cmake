# Compile rules that every target of the project follows.
#
# QCONFORM_PRECOMPILE: the headers that nearly every file includes are precompiled, which the
# presets of developers use. Not under a compiler launcher: compiler caches do not see into them.
option(QCONFORM_PRECOMPILE "Precompile the headers that nearly every file includes" OFF)
# QCONFORM_UNITY: several sources of the harness and the reports are compiled as one, which takes half
# the time where everything has to be built, and more where one file has changed. scripts/build turns it on
# where nothing is built yet, and the cache keeps it; QCONFORM_UNITY=OFF in the environment prevents that.
# With QCONFORM_TESTS everything but the reference is also optimized less then (qconform_optimize): what is built to be
# tested runs for minutes. For speed, build `release`, or `dev` with QCONFORM_UNITY=OFF.
option(QCONFORM_UNITY "Compile several sources as one" OFF)
# QCONFORM_QUICK: harness and reports are optimized no more than where everything is built to be tested; kernels and
# reference as in a release. For scripts/quickstart.
option(QCONFORM_QUICK "Optimize the harness little, so that it is built soon" OFF)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(QCONFORM_PRECOMPILE OFF)
  set(QCONFORM_UNITY OFF)
endif()

# -ffp-contract=off: a fused multiply-add rounds once where the semantics round twice. GCC contracts
# by default on AArch64, so without this flag one source would mean two things.
add_library(qconform_options INTERFACE)
target_compile_features(qconform_options INTERFACE cxx_std_20)
target_compile_options(qconform_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
  # Whoever installs has another compiler, which warns of other things.
  $<$<BOOL:${QCONFORM_TESTS}>:-Werror>
  # With precompiled headers GCC 12 warns about std::string's own copies, where there is nothing wrong.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${QCONFORM_PRECOMPILE}>>:-Wno-error=stringop-overflow>
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${QCONFORM_PRECOMPILE}>>:-Wno-error=array-bounds>
  # GCC takes the sources that such a file includes for headers.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${QCONFORM_UNITY}>>:-Wno-subobject-linkage>
  # Clang sees what another source of the same group declares; what is shadowed within one source GCC tells.
  $<$<AND:$<CXX_COMPILER_ID:Clang>,$<BOOL:${QCONFORM_UNITY}>>:-Wno-shadow>
  -ffp-contract=off -fno-fast-math
  # GCC 12 warns about overlap inside its own std::string (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  # A tenth of GCC's time goes into collecting garbage from 128 MB on.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>)
target_include_directories(qconform_options INTERFACE "${PROJECT_SOURCE_DIR}")

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

if(QCONFORM_SANITIZE)
  add_compile_options(-fsanitize=${QCONFORM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${QCONFORM_SANITIZE})
endif()

if(QCONFORM_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "QCONFORM_FUZZ needs clang (libFuzzer); the compiler is ${CMAKE_CXX_COMPILER_ID}")
  endif()
endif()

# Makes a library or program report its coverage to libFuzzer. Tests are left out: nothing fuzzes
# them. ARITHMETIC: comparisons are not reported, because those of loops over numbers teach a fuzzer
# nothing and cost a third of its speed.
function(qconform_instrument_for_fuzzing target)
  cmake_parse_arguments(ARG "ARITHMETIC" "" "" ${ARGN})
  if(QCONFORM_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link
                           $<$<BOOL:${ARG_ARITHMETIC}>:-fno-sanitize-coverage=trace-cmp>)
  endif()
endfunction()

# Where everything is built to be tested, optimizing takes longer than running what is hardly repeated. Debug: with
# sanitizers or for coverage.
set(QCONFORM_BUILT_FOR_TESTS
    $<OR:$<CONFIG:Debug>,$<AND:$<BOOL:${QCONFORM_UNITY}>,$<BOOL:${QCONFORM_TESTS}>>>)

# Leaves what is built for tests without optimization in all folders that are added after this.
macro(qconform_leave_the_rest_unoptimized)
  add_compile_options($<${QCONFORM_BUILT_FOR_TESTS}:-O0>)
endmacro()

# Optimizes a target by these levels: TESTED (0 by default) where everything is built for tests or with QCONFORM_QUICK,
# RELEASED in a release.
function(qconform_optimize target)
  cmake_parse_arguments(ARG "" "TESTED;RELEASED" "" TESTED 0 ${ARGN})
  set(level ${ARG_RELEASED})
  if(QCONFORM_QUICK)
    set(level ${ARG_TESTED})
  endif()
  target_compile_options(${target} PRIVATE
    $<${QCONFORM_BUILT_FOR_TESTS}:-O${ARG_TESTED}> $<$<AND:$<CONFIG:Release>,$<NOT:${QCONFORM_BUILT_FOR_TESTS}>>:-O${level}>)
endfunction()

# Compiles the sources of `target` as so many files, up to 16, where QCONFORM_UNITY is on. The name of a source decides where it goes, so
# that another one that comes or goes leaves it there: two files that go together must not use one name for two things.
# Four files take four fifths of the time of sixteen, because each compiles the templates that it uses: there are no more
# of them than keep the processors busy. For the last line of a folder that adds sources.
function(qconform_unity target groups)
  if(NOT QCONFORM_UNITY)
    return()
  endif()
  cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR wanted "2 * ${processors}")
  while(groups GREATER 4 AND groups GREATER wanted)
    math(EXPR groups "${groups} / 2")
  endwhile()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  foreach(source ${sources})
    string(MD5 digest "${source}")
    string(SUBSTRING "${digest}" 0 1 digit)
    math(EXPR group "0x${digit} % ${groups}")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP group${group})
  endforeach()
endfunction()

# The fastest linker that is there: a build with tests links some seventy programs. Not gold, which passes over
# --export-dynamic-symbol: coverage needs it.
if(QCONFORM_TESTS)
  include(CheckLinkerFlag)
  foreach(linker mold lld)
    check_linker_flag(CXX "-fuse-ld=${linker}" QCONFORM_LINKS_WITH_${linker})
    if(QCONFORM_LINKS_WITH_${linker})
      add_link_options("-fuse-ld=${linker}")
      break()
    endif()
  endforeach()
endif()

# For sources of a target whose loops every case of a campaign goes through: GCC 12 leaves loops without vectors at -O2.
function(qconform_vectorize target)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
    COMPILE_OPTIONS "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-O3>")
endfunction()

if(QCONFORM_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
