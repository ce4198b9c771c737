# Cross build with Debian's GCC and the C library of an older release: for wheels (scripts/wheel --platform).
#
# In the environment: QCONFORM_WHEEL_PROCESSOR, x86_64 or aarch64; QCONFORM_WHEEL_ROOT, the folder that scripts/wheel-libraries
# makes, with that C library and all other libraries. libstdc++ is linked statically, libgcc is not: the frames of a plugin are
# unwound by one copy of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "$ENV{QCONFORM_WHEEL_PROCESSOR}")
set(triplet "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu")
set(root "$ENV{QCONFORM_WHEEL_ROOT}")
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_SYSROOT "${root}")
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-${CMAKE_SYSTEM_PROCESSOR}-static" -L "/usr/${triplet}")
endif()
set(QCONFORM_LICENCES "${root}/licences")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The compiler's own headers, then the older C library's, and nothing of this system's. Folders that are not there do not count.
execute_process(COMMAND ${triplet}-g++ -dumpversion OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${triplet}-g++ -print-file-name=include OUTPUT_VARIABLE own OUTPUT_STRIP_TRAILING_WHITESPACE)
set(headers "-isystem ${own} -isystem ${root}/usr/include/${triplet} -isystem ${root}/usr/include")
set(libraries "-B${root}/usr/lib/${triplet} -L${root}/lib/${triplet}")
set(CMAKE_C_FLAGS_INIT "-nostdinc ${headers} ${libraries}")
set(CMAKE_CXX_FLAGS_INIT "-nostdinc")
foreach(folder "/usr/${triplet}/include/c++/${version}" "/usr/${triplet}/include/c++/${version}/${triplet}"
        "/usr/include/c++/${version}" "/usr/include/${triplet}/c++/${version}")
  string(APPEND CMAKE_CXX_FLAGS_INIT " -isystem ${folder}")
endforeach()
string(APPEND CMAKE_CXX_FLAGS_INIT " ${headers} -include ${CMAKE_CURRENT_LIST_DIR}/newer_glibc.h ${libraries}")
foreach(kind EXE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-s -static-libstdc++")
endforeach()
# It is an object, not a library: libstdc++, which comes after it, needs it too.
set(CMAKE_C_STANDARD_LIBRARIES "${root}/newer_glibc.o")
set(CMAKE_CXX_STANDARD_LIBRARIES "${root}/newer_glibc.o")
