# What `cmake --install` puts where: the program, the plugins' header, and the data that the program finds relative to
# itself (../share/qconform). docs/releasing.md lists it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(data "${CMAKE_INSTALL_DATADIR}/qconform")

set_target_properties(qconform PROPERTIES EXPORT_NAME program)
install(TARGETS qconform EXPORT qconform RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
get_property(modules GLOBAL PROPERTY QCONFORM_ADAPTER_MODULE_TARGETS)
if(modules)
  install(TARGETS ${modules} LIBRARY DESTINATION lib/qconform)
endif()
install(FILES harness/include/qconform/backend.h harness/include/qconform/node.hpp
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/qconform")
install(DIRECTORY corpus/ DESTINATION "${data}/corpus"
        FILES_MATCHING PATTERN "*.json" PATTERN "*.md" PATTERN schema EXCLUDE)
install(DIRECTORY corpus/schema/ "${PROJECT_BINARY_DIR}/schema/" DESTINATION "${data}/schema")
install(FILES waivers/waivers-1.schema.json DESTINATION "${data}/schema")
install(FILES waivers/libraries.json DESTINATION "${data}/waivers")
install(PROGRAMS scripts/gate-step scripts/judge-machine scripts/library-cases DESTINATION "${data}")
install(FILES scripts/progress.sh DESTINATION "${data}")
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}"
        PATTERN "*.py" EXCLUDE PATTERN "__pycache__" EXCLUDE PATTERN "CMakeLists.txt" EXCLUDE PATTERN "site" EXCLUDE)
install(FILES README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# Manual pages and completion come from the program's own options.
set(generated "${PROJECT_BINARY_DIR}/installed")
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
add_custom_command(
  OUTPUT "${generated}/stamp"
  COMMAND ${CMAKE_COMMAND} -E rm -rf "${generated}"
  COMMAND qconform manual --out "${generated}/man1"
  COMMAND sh -c "gzip -9n '${generated}'/man1/*.1"
  COMMAND sh -c "${emulator} $<TARGET_FILE:qconform> completion bash >'${generated}/qconform'"
  COMMAND sh -c "${emulator} $<TARGET_FILE:qconform> completion zsh >'${generated}/_qconform'"
  COMMAND sh -c "${emulator} $<TARGET_FILE:qconform> completion fish >'${generated}/qconform.fish'"
  COMMAND sh -c "gzip -9nc '${PROJECT_SOURCE_DIR}/CHANGELOG.md' >'${generated}/CHANGELOG.md.gz'"
  COMMAND ${CMAKE_COMMAND} -E touch "${generated}/stamp"
  DEPENDS qconform CHANGELOG.md
  COMMENT "Writing manual pages and completion" VERBATIM)
# A build that looks for mistakes is installed without them.
if(QCONFORM_SANITIZE OR QCONFORM_COVERAGE)
  set(always "")
else()
  set(always ALL)
endif()
add_custom_target(qconform_installed_texts ${always} DEPENDS "${generated}/stamp")
install(DIRECTORY "${generated}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}" OPTIONAL)
install(FILES "${generated}/qconform" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" OPTIONAL)
install(FILES "${generated}/qconform.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" OPTIONAL)
# zsh looks in the first below /usr/local, Debian's zsh in the second below /usr.
foreach(folder site-functions vendor-completions)
  install(FILES "${generated}/_qconform" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/${folder}" OPTIONAL)
endforeach()
install(FILES "${generated}/CHANGELOG.md.gz" DESTINATION "${CMAKE_INSTALL_DOCDIR}" OPTIONAL)
install(FILES cmake/copyright DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# For authors of plugins: pkg-config's "qconform"; CMake's package, with the header, the program and gates as tests.
install(TARGETS qconform_backend_interface EXPORT qconform)
set(package "${CMAKE_INSTALL_DATADIR}/cmake/qconform")
install(EXPORT qconform NAMESPACE qconform:: FILE qconformTargets.cmake DESTINATION "${package}")
configure_package_config_file(cmake/qconformConfig.cmake.in "${PROJECT_BINARY_DIR}/qconformConfig.cmake"
                              INSTALL_DESTINATION "${package}" PATH_VARS data)
install(FILES "${PROJECT_BINARY_DIR}/qconformConfig.cmake" cmake/QconformGate.cmake DESTINATION "${package}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/qconformConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/qconformConfigVersion.cmake" DESTINATION "${package}")
configure_file(cmake/qconform.pc.in "${PROJECT_BINARY_DIR}/qconform.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/qconform.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")

if(QCONFORM_TESTS AND always AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME release/installed_tree
           COMMAND "${PROJECT_SOURCE_DIR}/harness/tests/installed_tree.sh" --build "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
  set_tests_properties(release/installed_tree PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
  add_test(NAME release/outside_project
           COMMAND "${PROJECT_SOURCE_DIR}/harness/tests/outside_project.sh" "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
  set_tests_properties(release/outside_project PROPERTIES LABELS unit TIMEOUT 300)
endif()
