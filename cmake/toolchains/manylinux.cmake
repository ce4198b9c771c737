# Cross build with Debian's GCC and the C library of an older release: for wheels (scripts/wheel --platform).
#
# In the environment: QCONFORM_WHEEL_PROCESSOR, x86_64 or aarch64; QCONFORM_WHEEL_ROOT, the folder that scripts/wheel-libraries
# makes, with that C library and all other libraries. libstdc++ is linked statically, libgcc is not: the frames of a plugin are
# unwound by one copy of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "$ENV{QCONFORM_WHEEL_PROCESSOR}")
set(wheel_triplet "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu")
set(wheel_root "$ENV{QCONFORM_WHEEL_ROOT}")
set(CMAKE_C_COMPILER ${wheel_triplet}-gcc)
set(CMAKE_CXX_COMPILER ${wheel_triplet}-g++)
set(CMAKE_SYSROOT "${wheel_root}")
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-${CMAKE_SYSTEM_PROCESSOR}-static" -L "/usr/${wheel_triplet}")
endif()
set(QCONFORM_LICENCES "${wheel_root}/licences")

set(ZLIB_USE_STATIC_LIBS ON) # its sources make both
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The compiler's own headers, then the older C library's, and nothing of this system's. Folders may be missing.
execute_process(COMMAND ${wheel_triplet}-g++ -dumpversion OUTPUT_VARIABLE wheel_version OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${wheel_triplet}-g++ -print-file-name=include OUTPUT_VARIABLE wheel_own
                OUTPUT_STRIP_TRAILING_WHITESPACE)
set(wheel_headers "-isystem ${wheel_own} -isystem ${wheel_root}/usr/include/${wheel_triplet}")
string(APPEND wheel_headers " -isystem ${wheel_root}/usr/include")
set(wheel_link "-B${wheel_root}/usr/lib/${wheel_triplet} -L${wheel_root}/lib/${wheel_triplet}")
set(CMAKE_C_FLAGS_INIT "-nostdinc ${wheel_headers} ${wheel_link}")
set(CMAKE_CXX_FLAGS_INIT "-nostdinc")
foreach(wheel_folder "/usr/${wheel_triplet}/include/c++/${wheel_version}"
        "/usr/${wheel_triplet}/include/c++/${wheel_version}/${wheel_triplet}"
        "/usr/include/c++/${wheel_version}" "/usr/include/${wheel_triplet}/c++/${wheel_version}")
  string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${wheel_folder}")
endforeach()
string(APPEND CMAKE_CXX_FLAGS_INIT " ${wheel_headers} -include ${CMAKE_CURRENT_LIST_DIR}/newer_glibc.h ${wheel_link}")
foreach(wheel_kind EXE SHARED)
  set(CMAKE_${wheel_kind}_LINKER_FLAGS_INIT "-s -static-libstdc++ -pthread")
endforeach()
# It is an object, not a library: libstdc++, which comes after it, needs it too.
set(CMAKE_CXX_STANDARD_LIBRARIES "${wheel_root}/newer_glibc.o")
