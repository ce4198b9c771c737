# An adapter to a third-party library: the folder harness/backends/libraries/<name> is part of the build where the
# library is found. Always part of the harness are <name>_form.cc in it, the form in which the library reads models, and
# <name>_issue.cc, which writes a failing case as a program for the library's maintainers.
# QCONFORM_<NAME> is AUTO (used when found), ON (must be found) or OFF; what is missing ends up in `qconform list
# backends`. QCONFORM_ADAPTER_MODULES makes those that link a library modules, which qconform loads when it runs: it then
# starts where the library is missing.
#
option(QCONFORM_ADAPTER_MODULES "Load adapters that link a library when qconform runs" OFF)

# qconform_adapter(<name> "<title>" "<how to get it>"
#   HEADERS <header>...         each is looked for, and its folder included
#   [LIBRARIES <library>...]    each is looked for and linked; without them the adapter loads the library when it runs
#   [HINTS <folder>...] [SUFFIXES <folder below an include folder>...] [ONLY_HINTS]
#   [VERSION_OF <package>]      for a library that does not tell its version: QCONFORM_<NAME>_VERSION, of Debian's package
#   [LINK <target>...] [DEFINE <definition>...])
function(qconform_adapter name title remedy)
  cmake_parse_arguments(arg "ONLY_HINTS" "VERSION_OF" "HEADERS;LIBRARIES;HINTS;SUFFIXES;LINK;DEFINE" ${ARGN})
  string(TOUPPER "${name}" upper)
  qconform_release_workers(${name} LIBRARIES ${arg_LIBRARIES} SUFFIXES ${arg_SUFFIXES} LINK ${arg_LINK})
  set(QCONFORM_${upper} AUTO CACHE STRING "Adapter: AUTO, ON or OFF")
  set_property(CACHE QCONFORM_${upper} PROPERTY STRINGS AUTO ON OFF)
  set(only_hints)
  if(arg_ONLY_HINTS)
    set(only_hints NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
  endif()
  set(absent "")
  set(folders)
  set(libraries)
  if(QCONFORM_${upper} STREQUAL "OFF")
    set(absent "built with QCONFORM_${upper}=OFF")
  else()
    foreach(header IN LISTS arg_HEADERS)
      string(MAKE_C_IDENTIFIER "QCONFORM_${upper}_${header}" found)
      find_path(${found} ${header} HINTS ${arg_HINTS} PATH_SUFFIXES ${arg_SUFFIXES} ${only_hints})
      list(APPEND folders "${${found}}")
    endforeach()
    foreach(library IN LISTS arg_LIBRARIES)
      string(MAKE_C_IDENTIFIER "QCONFORM_${upper}_${library}" found)
      find_library(${found} ${library})
      list(APPEND libraries "${${found}}")
    endforeach()
    if("${folders};${libraries}" MATCHES "NOTFOUND")
      set(absent "not found when qconform was built: ${remedy}")
      if(NOT QCONFORM_${upper} STREQUAL "AUTO")
        message(FATAL_ERROR "QCONFORM_${upper}=${QCONFORM_${upper}}, but it was not found: ${remedy}")
      endif()
    endif()
  endif()
  if(absent)
    set_property(GLOBAL APPEND_STRING PROPERTY QCONFORM_ADAPTERS
      "QCONFORM_ABSENT_LIBRARY(${name}, \"${title}\", \"${absent}\")\n")
    return()
  endif()
  set(line "QCONFORM_LIBRARY(${name})")
  set(target qconform_libraries)
  if(QCONFORM_ADAPTER_MODULES AND libraries)
    set(line "QCONFORM_MODULE_OF_LIBRARY(${name}, \"${title}\", \"${remedy}\")")
    set(target qconform_module_${name})
    qconform_adapter_module(${name})
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY QCONFORM_ADAPTERS "${line}\n")
  file(GLOB sources CONFIGURE_DEPENDS ${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_(form|issue)\\.cc$")
  target_sources(${target} PRIVATE ${sources})
  target_include_directories(${target} SYSTEM PRIVATE ${folders})
  target_link_libraries(${target} PRIVATE ${libraries} ${arg_LINK})
  target_compile_definitions(${target} PRIVATE QCONFORM_HAS_${upper} ${arg_DEFINE})
  if(arg_VERSION_OF)
    qconform_package_version(${upper} ${arg_VERSION_OF})
    target_compile_definitions(${target} PRIVATE QCONFORM_${upper}_VERSION="${QCONFORM_${upper}_VERSION}")
  endif()
endfunction()

# lib/qconform/<name>.so, an adapter that qconform loads. What it uses of the harness are the symbols of the program.
function(qconform_adapter_module name)
  set(target qconform_module_${name})
  add_library(${target} MODULE adapters.cc module_entry.cc)
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name} UNITY_BUILD OFF
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/qconform")
  target_compile_definitions(${target} PRIVATE QCONFORM_MODULE=${name})
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}" "${PROJECT_BINARY_DIR}/generated")
  target_link_libraries(${target} PRIVATE qconform_options tl::expected fmt::fmt)
  set_property(GLOBAL APPEND PROPERTY QCONFORM_ADAPTER_MODULE_TARGETS ${target})
endfunction()

# A program bin/worker-<name>-<version> for each root of a release of Debian: the adapter, built with the headers of the
# root, and what `qconform worker` does. It starts with the root's loader and finds the root's libraries first, those of the
# system behind them. Not for a sanitizer, whose own runtime belongs to the system's C library.
function(qconform_release_workers name)
  cmake_parse_arguments(arg "" "" "LIBRARIES;SUFFIXES;LINK" ${ARGN})
  set(roots "$ENV{QCONFORM_ROOTS}")
  if(NOT roots)
    set(roots "${PROJECT_SOURCE_DIR}/build/roots")
  endif()
  file(GLOB found CONFIGURE_DEPENDS "${roots}/${name}-*/VERSION")
  foreach(file IN LISTS found)
    file(STRINGS "${file}" source LIMIT_COUNT 1)
    if(source MATCHES "^debian:" AND NOT CMAKE_CROSSCOMPILING AND NOT QCONFORM_SANITIZE)
      cmake_path(GET file PARENT_PATH root)
      qconform_release_worker(${name} "${root}" LIBRARIES ${arg_LIBRARIES} SUFFIXES ${arg_SUFFIXES} LINK ${arg_LINK})
    endif()
  endforeach()
endfunction()

function(qconform_release_worker name root)
  cmake_parse_arguments(arg "" "" "LIBRARIES;SUFFIXES;LINK" ${ARGN})
  string(TOUPPER "${name}" upper)
  cmake_path(GET root FILENAME folder)
  string(REGEX REPLACE "^${name}-" "" version "${folder}")
  set(target worker-${folder})
  file(GLOB loader "${root}/usr/lib/*/ld-linux-*.so.*")
  cmake_path(GET loader PARENT_PATH libraries)
  file(GLOB sources CONFIGURE_DEPENDS ${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_(form|issue)\\.cc$")
  add_executable(${target} ${common} ${sources})
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  file(CONFIGURE OUTPUT "${list}/libraries.inc" CONTENT "QCONFORM_LIBRARY(${name})\n" @ONLY)
  target_include_directories(${target} PRIVATE "${list}")
  foreach(suffix IN ITEMS "" LISTS arg_SUFFIXES)
    target_include_directories(${target} SYSTEM BEFORE PRIVATE "${root}/usr/include/${suffix}")
  endforeach()
  target_compile_definitions(${target} PRIVATE QCONFORM_HAS_${upper} QCONFORM_${upper}_VERSION="${version}"
    QCONFORM_OWN_ROOT="${root}" QCONFORM_ROOTS_DIRECTORY="${PROJECT_SOURCE_DIR}/build/roots" QCONFORM_PRESET="${preset}")
  target_link_libraries(${target} PRIVATE qconform_worker_main qconform_harness ${arg_LINK} fmt::fmt ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES QCONFORM_HARNESS_FIRST ON)
  foreach(library IN LISTS arg_LIBRARIES)
    file(GLOB shared "${libraries}/lib${library}.so.*")
    list(GET shared 0 shared)
    target_link_libraries(${target} PRIVATE "${shared}")
  endforeach()
  # DT_RPATH (no newer tags) holds for the libraries of the root too. They use a newer C library than this system's.
  set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON)
  target_link_options(${target} PRIVATE "LINKER:--disable-new-dtags,-rpath,${libraries}"
    "LINKER:--dynamic-linker,${loader}" LINKER:--allow-shlib-undefined)
endfunction()

# Sets QCONFORM_<NAME>_VERSION unless it is set: the upstream version of Debian's package, or "unknown".
function(qconform_package_version upper package)
  if(QCONFORM_${upper}_VERSION)
    return()
  endif()
  if(CMAKE_CROSSCOMPILING)
    # "libxnnpack-dev 0.0~git...-1", as scripts/arm64-sysroot writes it
    file(STRINGS "${QCONFORM_ARM64_SYSROOT}/.versions" version REGEX "^${package} ")
    string(REGEX REPLACE "^${package} (.*)-[^-]*$" "\\1" version "${version}")
  else()
    execute_process(COMMAND dpkg-query --show "--showformat=\${source:Upstream-Version}" ${package}
      OUTPUT_VARIABLE version ERROR_QUIET)
  endif()
  if(NOT version)
    set(version "unknown")
  endif()
  set(QCONFORM_${upper}_VERSION "${version}" CACHE STRING "Version of the library, for reports")
endfunction()

# A runtime that a program of harness/backends/peers asks:
# qconform_peer(<name> "<title>" <program> [WORDS <word>...] [KEY <key> VALUES "<value> or <value>..."])
function(qconform_peer name title program)
  cmake_parse_arguments(arg "" "KEY;VALUES" "WORDS" ${ARGN})
  list(TRANSFORM arg_WORDS REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE words)
  list(JOIN words ", " words)
  set_property(GLOBAL APPEND_STRING PROPERTY QCONFORM_ADAPTERS
    "QCONFORM_PEER(\"${name}\", \"${title}\", \"${program}\", {${words}}, \"${arg_KEY}\", \"${arg_VALUES}\")\n")
endfunction()
