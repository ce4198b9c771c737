#include "harness/backends/libraries/libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/core/version.h"

namespace qconform::libraries {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr AdapterModule kSample{"sample", "A library", "install libsample-dev"};

std::string reason_of(const fs::path& file) {
  const backend::Library library = library_of_module(kSample, file);
  EXPECT_EQ(library.name, "sample");
  EXPECT_EQ(library.state().version, "");
  return library.state().absent;
}

fs::path file_of(const char* name) {
  return fs::path(QCONFORM_MODULES) / (std::string(name) + ".so");
}

TEST(AdapterModule, IsTheLibraryThatItDescribes) {
  const backend::Library library = library_of_module(kSample, file_of("module_sample"));
  EXPECT_EQ(library.state().absent, "");
  EXPECT_EQ(library.state().version, "7.1");
}

TEST(AdapterModule, SaysWhichLibraryIsMissing) {
  EXPECT_EQ(reason_of(file_of("module_lacking")), "libqconform_missing.so is not installed: install libsample-dev");
}

TEST(AdapterModule, OfAnotherVersionIsNotUsed) {
  EXPECT_THAT(reason_of(file_of("module_other")),
              AllOf(HasSubstr("belongs to qconform 0.0.9"), EndsWith(std::string("this is ") + kVersion)));
}

TEST(AdapterModule, SaysWhatElseKeepsItFromLoading) {
  EXPECT_THAT(reason_of(file_of("libqconform_missing")), EndsWith("has no symbol qconform_adapter_module"));
  EXPECT_THAT(reason_of(file_of("nothing")), HasSubstr("this build has no "));
  EXPECT_THAT(reason_of(__FILE__), HasSubstr("invalid ELF header"));
}

TEST(AdapterModule, LiesBesideTheFolderOfTheProgram) {
  EXPECT_EQ(file_of_module("sample"),
            fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib/qconform/sample.so");
}

}  // namespace
}  // namespace qconform::libraries
