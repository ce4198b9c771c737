# Everything comes from the distribution's packages; scripts/packages lists their names.
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(tinyxml2 REQUIRED)
find_package(ZLIB REQUIRED)

# ONNX's package names its protobuf dependency by a target that only this alias gives it, and its
# headers do not build under our warnings.
add_library(qconform_onnx_library INTERFACE)
target_link_libraries(qconform_onnx_library INTERFACE onnx onnx_proto protobuf::libprotobuf)
get_target_property(qconform_onnx_includes onnx_proto INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(qconform_onnx_library SYSTEM INTERFACE ${qconform_onnx_includes})

if(QCONFORM_TESTS)
  find_package(GTest REQUIRED)
  find_path(QCONFORM_RAPIDCHECK_INCLUDE rapidcheck.h REQUIRED)
  find_library(QCONFORM_RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
  find_library(QCONFORM_GMP_LIBRARY gmp REQUIRED)
  find_library(QCONFORM_GMPXX_LIBRARY gmpxx REQUIRED)
  # Optional: ball arithmetic, against which the sets of graphs are checked. From FLINT 3 on it is part of that library.
  find_path(QCONFORM_ARB_INCLUDE arb.h PATH_SUFFIXES flint)
  find_library(QCONFORM_ARB_LIBRARY NAMES flint-arb arb flint)
  find_library(QCONFORM_FLINT_LIBRARY flint)
endif()
