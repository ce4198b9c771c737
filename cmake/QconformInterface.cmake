# Other projects use this of the source tree: qconform::backend, qconform::program and qconform_add_gate(). An installed
# tree has the same (qconformConfig.cmake).
add_library(qconform_backend_interface INTERFACE)
add_library(qconform::backend ALIAS qconform_backend_interface)
set_target_properties(qconform_backend_interface PROPERTIES EXPORT_NAME backend)
include(GNUInstallDirs)
target_include_directories(qconform_backend_interface INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/harness/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")

# Without QCONFORM_PROGRAM it is one that is installed, if there is one.
if(NOT QCONFORM_PROGRAM)
  find_program(QCONFORM_EXECUTABLE NAMES qconform DOC "The program that gates run (qconform_add_gate)")
  if(QCONFORM_EXECUTABLE)
    add_executable(qconform::program IMPORTED GLOBAL)
    set_target_properties(qconform::program PROPERTIES IMPORTED_LOCATION "${QCONFORM_EXECUTABLE}")
  endif()
endif()

set(QCONFORM_GATE_STEP "${PROJECT_SOURCE_DIR}/scripts/gate-step" CACHE INTERNAL "The script that a gate's test runs")
include("${CMAKE_CURRENT_LIST_DIR}/QconformGate.cmake")
