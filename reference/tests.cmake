# Tests of the reference. The oracle is a second, independent implementation in GMP rationals.
add_library(qconform_oracle STATIC
  oracle/definitions.cc oracle/random_convolution.cc)
target_link_libraries(qconform_oracle PUBLIC qconform_options ${QCONFORM_GMPXX_LIBRARY} ${QCONFORM_GMP_LIBRARY})

# Graphs in ball arithmetic. Without FLINT their tests are named as not run.
if(QCONFORM_ARB_INCLUDE AND QCONFORM_ARB_LIBRARY AND QCONFORM_FLINT_LIBRARY)
  add_library(qconform_graph_oracle STATIC oracle/graph.cc)
  target_link_libraries(qconform_graph_oracle PUBLIC qconform_reference ${QCONFORM_ARB_LIBRARY} ${QCONFORM_FLINT_LIBRARY})
  target_include_directories(qconform_graph_oracle SYSTEM PUBLIC ${QCONFORM_ARB_INCLUDE})
endif()

# qconform_graph_oracle_test(NAME SOURCE LIBRARIES...)
function(qconform_graph_oracle_test name source)
  if(TARGET qconform_graph_oracle)
    qconform_test(NAME ${name} LABEL property SOURCES ${source} LIBRARIES qconform_graph_oracle ${ARGN}
                  COST 3 SLOW "GraphBallsSlow" NATIVE "GraphBallsSlow")
  else()
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: install the packages libflint-dev and libflint-arb-dev")
    set_tests_properties(${name} PROPERTIES LABELS property SKIP_REGULAR_EXPRESSION "^skipped: ")
  endif()
endfunction()
qconform_graph_oracle_test(graph_balls_test graph/ball_test.cc)

function(qconform_reference_test name label)
  set(optimized)
  if(name MATCHES "sweep")
    set(optimized OPTIMIZED)
  endif()
  qconform_test(NAME ${name} LABEL ${label} SOURCES ${ARGN} LIBRARIES qconform_reference qconform_oracle ${optimized})
endfunction()

qconform_reference_test(oracle_test property oracle/definitions_test.cc)
qconform_reference_test(requantize_test property numerics/requantize_test.cc COST 2
  NATIVE "HalfAMillionValues$" "^RequantizeProfiles")
qconform_reference_test(geometry_test unit convolution/geometry_test.cc)
qconform_reference_test(convolution_test property
  convolution/convolution_test.cc)
qconform_reference_test(graph_sets_test property graph/sets_test.cc COST 3)
qconform_reference_test(interpreter_test unit graph/interpreter_test.cc)
qconform_reference_test(layout_test unit linear_quantization/layout_test.cc)
qconform_reference_test(linear_quantization_test property
  linear_quantization/linear_quantization_test.cc
  tests/quantize_sweep.cc tests/small_float.cc)
qconform_reference_test(integers_test property numerics/integers_test.cc OPTIMIZED NATIVE "EqualsGmp" "RoundsQuotients")
qconform_reference_test(admissible_test property
  numerics/admissible_test.cc numerics/admissible_models_test.cc numerics/admissible_set_test.cc
  numerics/float_expressions_test.cc tests/admissible.cc)
qconform_reference_test(numerics_sweep_test sweep
  numerics/sweep_test.cc tests/admissible.cc tests/small_float.cc COST 15)
qconform_reference_test(small_float_test property
  numerics/small_float_test.cc tests/small_float.cc
  NATIVE "EveryPattern" "NeighboursOfEvery")
qconform_reference_test(linear_quantization_admissible_test property
  linear_quantization/quantize_linear_admissible_test.cc linear_quantization/dequantize_linear_admissible_test.cc
  tests/small_float.cc)
# Their sources are alike and use the same names.
set_target_properties(admissible_test linear_quantization_admissible_test PROPERTIES UNITY_BUILD OFF)
# Arithmetic of known inputs. Every float32 takes a minute under emulation, where samples of them remain.
qconform_reference_test(quantize_sweep_test property
  linear_quantization/quantize_sweep_test.cc tests/quantize_sweep.cc
  tests/small_float.cc
  COST 15 NATIVE . NOT_EMULATED "^QuantizeLinearSweep.EveryFloat32$")
qconform_reference_test(linear_quantization_sweep_test sweep
  linear_quantization/linear_quantization_sweep_test.cc tests/quantize_sweep.cc
  tests/small_float.cc COST 4)
