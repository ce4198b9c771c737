# Finds the libraries that qconform has adapters for. Each is AUTO (used when found), ON (must be found)
# or OFF, and what is missing ends up in `qconform list backends`.
#
# Sets QCONFORM_<NAME>_FOUND, or QCONFORM_<NAME>_ABSENT to the reason.

# qconform_library(<NAME> <what to install> <variables that a found library sets>...)
function(qconform_library name remedy)
  set(QCONFORM_${name} AUTO CACHE STRING "Adapter: AUTO, ON or OFF")
  set_property(CACHE QCONFORM_${name} PROPERTY STRINGS AUTO ON OFF)
  set(QCONFORM_${name}_FOUND FALSE PARENT_SCOPE)
  if(QCONFORM_${name} STREQUAL "OFF")
    set(QCONFORM_${name}_ABSENT "built with QCONFORM_${name}=OFF" PARENT_SCOPE)
    return()
  endif()
  foreach(variable ${ARGN})
    if(NOT ${variable})
      if(NOT QCONFORM_${name} STREQUAL "AUTO")
        message(FATAL_ERROR "QCONFORM_${name}=${QCONFORM_${name}}, but it was not found: ${remedy}")
      endif()
      set(QCONFORM_${name}_ABSENT "not found when qconform was built: ${remedy}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(QCONFORM_${name}_FOUND TRUE PARENT_SCOPE)
endfunction()

# The C API's header only: the library itself is loaded at run time.
if(CMAKE_CROSSCOMPILING)
  set(QCONFORM_ONNXRUNTIME_DIRECTORY "${PROJECT_SOURCE_DIR}/build/onnxruntime-arm64")
  find_path(QCONFORM_ONNXRUNTIME_INCLUDE onnxruntime_c_api.h
    PATHS "${QCONFORM_ONNXRUNTIME_DIRECTORY}/include" NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  qconform_library(ONNXRUNTIME "scripts/get-onnxruntime --arm64 fetches it" QCONFORM_ONNXRUNTIME_INCLUDE)
else()
  set(QCONFORM_ONNXRUNTIME_DIRECTORY "${PROJECT_SOURCE_DIR}/build/onnxruntime")
  find_path(QCONFORM_ONNXRUNTIME_INCLUDE onnxruntime_c_api.h
    HINTS "$ENV{ONNXRUNTIME_ROOT}/include" "${QCONFORM_ONNXRUNTIME_DIRECTORY}/include"
    PATH_SUFFIXES onnxruntime onnxruntime/core/session)
  qconform_library(ONNXRUNTIME "scripts/get-onnxruntime fetches it, or set ONNXRUNTIME_ROOT"
    QCONFORM_ONNXRUNTIME_INCLUDE)
endif()

# Its package for CMake insists on OpenCL, which nothing here needs.
find_path(QCONFORM_ONEDNN_INCLUDE dnnl.hpp)
find_library(QCONFORM_ONEDNN_LIBRARY dnnl)
qconform_library(ONEDNN "install libdnnl-dev" QCONFORM_ONEDNN_INCLUDE QCONFORM_ONEDNN_LIBRARY)

# Neither has a package for CMake, and XNNPACK says nowhere which version it is: Debian does.
find_path(QCONFORM_XNNPACK_INCLUDE xnnpack.h)
find_path(QCONFORM_PTHREADPOOL_INCLUDE pthreadpool.h)
find_library(QCONFORM_XNNPACK_LIBRARY XNNPACK)
qconform_library(XNNPACK "install libxnnpack-dev and libpthreadpool-dev"
  QCONFORM_XNNPACK_INCLUDE QCONFORM_PTHREADPOOL_INCLUDE QCONFORM_XNNPACK_LIBRARY)
if(QCONFORM_XNNPACK_FOUND AND NOT QCONFORM_XNNPACK_VERSION)
  if(CMAKE_CROSSCOMPILING)
    # "libxnnpack-dev 0.0~git...-1", as scripts/arm64-sysroot writes it
    file(STRINGS "${QCONFORM_ARM64_SYSROOT}/.versions" version REGEX "^libxnnpack-dev ")
    string(REGEX REPLACE "^libxnnpack-dev (.*)-[^-]*$" "\\1" version "${version}")
    set(unknown 0)
  else()
    execute_process(COMMAND dpkg-query --show "--showformat=\${source:Upstream-Version}" libxnnpack-dev
      OUTPUT_VARIABLE version ERROR_QUIET RESULT_VARIABLE unknown)
  endif()
  if(NOT unknown EQUAL 0)
    set(version "unknown")
  endif()
  set(QCONFORM_XNNPACK_VERSION "${version}" CACHE STRING "Version of XNNPACK, for reports")
endif()

# Debian's package for CMake is in libopencv-dev, which wants all of OpenCV.
find_path(QCONFORM_OPENCV_INCLUDE opencv2/dnn.hpp PATH_SUFFIXES opencv4)
find_library(QCONFORM_OPENCV_CORE_LIBRARY opencv_core)
find_library(QCONFORM_OPENCV_DNN_LIBRARY opencv_dnn)
qconform_library(OPENCV "install libopencv-dnn-dev"
  QCONFORM_OPENCV_INCLUDE QCONFORM_OPENCV_CORE_LIBRARY QCONFORM_OPENCV_DNN_LIBRARY)
