# qconform_test(NAME <name> LABEL <label> SOURCES <files>... [LIBRARIES <targets>...] [OPTIMIZED]
#               [COST <seconds>] [SLOW <regex>...] [NATIVE <regex>...] [NOT_EMULATED <regex>...])
#
# One test program from x_test.cc files that stand beside what they test. Each test has one label for its kind:
#   unit, property, differential, backend, fuzz-smoke
#   sweep         goes over many millions of inputs; QCONFORM_TEST_SCALE=64 goes over all of them
# and may have labels for where it runs. The regular expressions select tests by their names without the program's;
# "." is all of them.
#   slow          takes minutes, and a test without this label checks the same with less: `scripts/test --slow` runs it
#   native        the sanitizers of .ci/run leave it out: it repeats, slowly, code that other tests run under them. A
#                 program that has no other tests is not built with sanitizers.
#   not-emulated  the emulator of .ci/run leaves it out: it takes long there
# COST is about how long each test of the program takes where that is a second or more: the longest run first, and
# scripts/test knows the time left before it has measured any.
#
# The tests' own sources are compiled without optimization, which takes half the time: what they call is
# optimized. OPTIMIZED is for those that loop over millions of values themselves.
include(GoogleTest)

# Once for all tests: these headers are most of what a small test compiles.
if(QCONFORM_PRECOMPILE)
  file(CONFIGURE OUTPUT precompiled.cc CONTENT "")
  add_library(qconform_precompiled_tests OBJECT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cc")
  target_link_libraries(qconform_precompiled_tests PRIVATE qconform_options GTest::gtest_main GTest::gmock)
  target_compile_options(qconform_precompiled_tests PRIVATE -O0)
  if(CMAKE_POSITION_INDEPENDENT_CODE)  # of libraries; the tests are programs
    set_target_properties(qconform_precompiled_tests PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(qconform_precompiled_tests PRIVATE -fPIE)
  endif()
  target_include_directories(qconform_precompiled_tests SYSTEM PRIVATE ${QCONFORM_RAPIDCHECK_INCLUDE})
  target_precompile_headers(qconform_precompiled_tests PRIVATE
    <gtest/gtest.h> <gmock/gmock.h> <rapidcheck/gtest.h> <algorithm> <cstdint> <filesystem> <functional>
    <map> <memory> <optional> <span> <string> <variant> <vector>)
endif()

function(qconform_test)
  cmake_parse_arguments(ARG "OPTIMIZED" "NAME;LABEL;COST" "SOURCES;LIBRARIES;SLOW;NATIVE;NOT_EMULATED" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  set_target_properties(${ARG_NAME} PROPERTIES UNITY_BUILD ${QCONFORM_UNITY})
  target_link_libraries(${ARG_NAME} PRIVATE qconform_options ${ARG_LIBRARIES} GTest::gtest_main GTest::gmock)
  target_include_directories(${ARG_NAME} SYSTEM PRIVATE ${QCONFORM_RAPIDCHECK_INCLUDE})
  # GCC 12 at -O3 takes the storage of RapidCheck's Maybe for uninitialized where it is inlined.
  target_compile_options(${ARG_NAME} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(NOT ARG_OPTIMIZED)
    target_compile_options(${ARG_NAME} PRIVATE -O0)
    if(QCONFORM_PRECOMPILE)
      target_precompile_headers(${ARG_NAME} REUSE_FROM qconform_precompiled_tests)
    endif()
  endif()
  target_link_libraries(${ARG_NAME} PRIVATE ${QCONFORM_RAPIDCHECK_LIBRARY} ${QCONFORM_GMPXX_LIBRARY} ${QCONFORM_GMP_LIBRARY})
  set(cost "")
  if(ARG_COST)
    set(cost COST ${ARG_COST})
  endif()
  set(timeout 600)
  if(ARG_LABEL STREQUAL "sweep")
    set(timeout 7200) # over all inputs, on a machine that has other things to do
    list(APPEND ARG_NATIVE .) # arithmetic
  endif()
  if(QCONFORM_SANITIZE AND "." IN_LIST ARG_NATIVE)
    set_target_properties(${ARG_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  gtest_discover_tests(${ARG_NAME} TEST_PREFIX "${ARG_NAME}/" DISCOVERY_MODE PRE_TEST
                       DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${timeout} ${cost})

  # Which tests there are is known to ctest alone: it runs this script after their discovery.
  set(rules "")
  foreach(label slow native not-emulated)
    string(TOUPPER "${label}" variable)
    string(REPLACE "-" "_" variable "ARG_${variable}")
    if(${variable})
      list(JOIN ${variable} "|" pattern)
      set(properties "LABELS ${label}")
      if(label STREQUAL "slow")
        string(APPEND properties " TIMEOUT 7200 COST 300")
      endif()
      string(APPEND rules "  if(name MATCHES [==[${pattern}]==])\n"
             "    set_tests_properties(\"\${test}\" PROPERTIES ${properties})\n  endif()\n")
    endif()
  endforeach()
  if(rules)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${ARG_NAME}_labels.cmake")
    file(WRITE "${file}" "foreach(test IN LISTS ${ARG_NAME}_TESTS)\n"
         "  string(REPLACE \"${ARG_NAME}/\" \"\" name \"\${test}\")\n${rules}endforeach()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
  endif()
endfunction()
