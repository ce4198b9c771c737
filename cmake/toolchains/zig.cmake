# Cross build with zig's clang and a C library that is older than this system's: for wheels (scripts/wheel --platform), whose
# libraries scripts/wheel-libraries puts into a folder of their own.
# In the environment: QCONFORM_ZIG, the program; QCONFORM_ZIG_TARGET, such as x86_64-linux-gnu.2.28; QCONFORM_ZIG_LIBRARIES,
# the folder.
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "$ENV{QCONFORM_ZIG_TARGET}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER "$ENV{QCONFORM_ZIG}" cc)
set(CMAKE_CXX_COMPILER "$ENV{QCONFORM_ZIG}" c++)
set(CMAKE_C_COMPILER_TARGET "$ENV{QCONFORM_ZIG_TARGET}")
set(CMAKE_CXX_COMPILER_TARGET "$ENV{QCONFORM_ZIG_TARGET}")

if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-${CMAKE_SYSTEM_PROCESSOR}-static" -L "/usr/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu")
endif()

set(QCONFORM_LICENCES "$ENV{QCONFORM_ZIG_LIBRARIES}/licences")
set(ZLIB_USE_STATIC_LIBS ON) # its sources make both
set(CMAKE_FIND_ROOT_PATH "$ENV{QCONFORM_ZIG_LIBRARIES}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_EXE_LINKER_FLAGS_INIT -s)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)

# A check that links would have zig compile its libraries once more, without optimization. What is linked is always there.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
