# Cross build for 64-bit Arm with Debian's cross compiler, run under qemu-aarch64.
#
# libc and libstdc++ belong to the compiler (/usr/aarch64-linux-gnu); every other library, headers
# included, comes from the folder that scripts/arm64-sysroot makes.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

if(NOT DEFINED QCONFORM_ARM64_SYSROOT)
  get_filename_component(QCONFORM_ARM64_SYSROOT "${CMAKE_CURRENT_LIST_DIR}/../../build/arm64-sysroot" ABSOLUTE)
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QCONFORM_ARM64_SYSROOT)
if(NOT EXISTS "${QCONFORM_ARM64_SYSROOT}/.packages")
  message(FATAL_ERROR "no arm64 libraries in ${QCONFORM_ARM64_SYSROOT}: run scripts/arm64-sysroot")
endif()

set(CMAKE_FIND_ROOT_PATH "${QCONFORM_ARM64_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Headers that are found without a search (gmpxx.h), and the libraries that ours need in turn.
set(qconform_arm64_libraries
    "${QCONFORM_ARM64_SYSROOT}/usr/lib/aarch64-linux-gnu:${QCONFORM_ARM64_SYSROOT}/lib/aarch64-linux-gnu")
set(CMAKE_CXX_FLAGS_INIT "-idirafter ${QCONFORM_ARM64_SYSROOT}/usr/include -idirafter ${QCONFORM_ARM64_SYSROOT}/usr/include/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${qconform_arm64_libraries}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${qconform_arm64_libraries}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-rpath-link,${qconform_arm64_libraries}")

# Every instruction set extension; pointer authentication by qemu's own fast hash.
set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64 -cpu max,pauth-impdef=on -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=${qconform_arm64_libraries}")
