// Adapters as modules that qconform loads when it runs, so that it starts where their libraries are missing.
#pragma once

#include <filesystem>
#include <string_view>

#include "harness/backends/library.h"

namespace qconform::libraries {

/// The facts that the program knows of an adapter without loading it.
struct AdapterModule {
  std::string_view name;    ///< as on the command line
  std::string_view title;   ///< the library's name and what it takes, for lists
  std::string_view remedy;  ///< how to get the library
};

/// The adapter in `file`. Where it cannot be loaded, a library whose state says why: which shared library is missing
/// and the remedy, or that the module belongs to another version. The module stays loaded until the program ends.
[[nodiscard]] backend::Library library_of_module(const AdapterModule& what, const std::filesystem::path& file);

/// lib/qconform/NAME.so beside the folder of the program, which is bin.
[[nodiscard]] std::filesystem::path file_of_module(std::string_view name);

/// A module exports this under kModuleEntry: the version of qconform that it was built with, and its adapter.
struct ModuleEntry {
  const char* version;
  backend::Library (*library)();
};
inline constexpr const char* kModuleEntry = "qconform_adapter_module";

}  // namespace qconform::libraries
