# CPack: a Debian package of the installed tree. scripts/release builds and checks it, and scripts/archive makes the archive.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGE_NAME qconform)
set(CPACK_PACKAGE_VENDOR "The qconform developers")
# The Maintainer of the Debian package. Who builds packages for others names himself; the default is of no one, in the
# domain that is reserved for that (RFC 2606).
set(QCONFORM_PACKAGE_CONTACT "qconform package builder <nobody@qconform.invalid>"
    CACHE STRING "Maintainer of the packages: Name <address>")
set(CPACK_PACKAGE_CONTACT "${QCONFORM_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "conformance and fuzz testing of quantized neural-network operators")
set(CPACK_PACKAGE_DESCRIPTION
    "qconform judges implementations of ONNX QLinearConv, ConvInteger,
QuantizeLinear and DequantizeLinear bit for bit, explains what is wrong with
those that fail, and holds a change of a kernel against a baseline in CI.
Kernels are shared libraries with a C interface, programs in any language,
or ONNX Runtime, oneDNN, XNNPACK and OpenCV.")
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "qemu-user, libonnx-testdata")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

include(CPack)
