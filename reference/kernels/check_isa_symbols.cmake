# Fails when an object file of an instruction set defines a weak symbol: an inline function or
# template instance that the linker could choose for code which runs on every processor.
#
#   cmake -DNM=<nm> -DOBJECTS=<file>,<file>... -P check_isa_symbols.cmake
string(REPLACE "," ";" objects "${OBJECTS}")
if(NOT objects)
  message(FATAL_ERROR "no object files given")
endif()
foreach(object IN LISTS objects)
  execute_process(COMMAND "${NM}" --defined-only "${object}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  if(NOT symbols MATCHES "convolution_")
    message(FATAL_ERROR "${object}: defines no table of micro-kernels; is this an object file of an instruction set?")
  endif()
  string(REGEX MATCHALL "[^\n]* [WwVvu] [^\n]*" weak "${symbols}")
  if(weak)
    list(JOIN weak "\n  " listed)
    message(FATAL_ERROR "${object}: defines weak symbols:\n  ${listed}")
  endif()
endforeach()
