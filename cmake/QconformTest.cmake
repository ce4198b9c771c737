# qconform_test(NAME <name> LABEL <label> SOURCES <files>... [LIBRARIES <targets>...] [OPTIMIZED])
#
# One test program from x_test.cc files that stand beside what they test. Labels: unit, property,
# differential, backend, fuzz-smoke, slow.
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
  target_precompile_headers(qconform_precompiled_tests PRIVATE
    <gtest/gtest.h> <gmock/gmock.h> <algorithm> <cstdint> <filesystem> <functional> <map> <memory> <optional>
    <span> <string> <variant> <vector>)
endif()

function(qconform_test)
  cmake_parse_arguments(ARG "OPTIMIZED" "NAME;LABEL" "SOURCES;LIBRARIES" ${ARGN})
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
  set(timeout 600)
  if(ARG_LABEL STREQUAL "slow")
    set(timeout 7200) # a full sweep, on a machine that has other things to do
  endif()
  gtest_discover_tests(${ARG_NAME} TEST_PREFIX "${ARG_NAME}/" DISCOVERY_MODE PRE_TEST
                       DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${ARG_LABEL} TIMEOUT ${timeout})
endfunction()
