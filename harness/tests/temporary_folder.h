// A folder that lives as long as a test.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace qconform::testing {

/// A new, empty folder below the system's temporary one; removed with everything in it.
class TemporaryFolder {
 public:
  /// Throws std::system_error if no folder can be made. The system chooses a name that nothing has: numbers of
  /// processes come again, and what a killed test left must not be found in a new folder.
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "qconform-test-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) throw std::system_error(errno, std::generic_category(), path);
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace qconform::testing
