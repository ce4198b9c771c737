// The instructions of a library, with the lines of source that they were made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"

namespace qconform {

struct CodeListing {
  struct Instruction {
    std::uint64_t offset = 0;
    std::uint32_t symbol = 0;    ///< instructions with different ones lie in different functions of the library
    std::uint32_t function = 0;  ///< position in `functions`; of an inlined function its own
    std::uint32_t file = 0;      ///< position in `files`
    std::uint32_t line = 0;      ///< 0 where the library has no debug information
    bool reports = false;        ///< calls what GCC's -fsanitize-coverage=trace-pc adds
  };

  std::vector<std::string> functions;     ///< "row_of<float>(int)"
  std::vector<std::string> files;         ///< absolute, or as the compiler was told
  std::vector<Instruction> instructions;  ///< in ascending order of `offset`

  [[nodiscard]] bool has_lines() const;
  /// Position of the last instruction that begins at `offset` or before it; instructions.size() where there is none.
  [[nodiscard]] std::size_t at(std::uint64_t offset) const;
};

/// As objdump of binutils lists it. Errors, of the field `module`: objdump is missing, or fails.
[[nodiscard]] Result<CodeListing> list_code(const std::string& module);

/// Reads what `objdump -d -l -C --no-show-raw-insn` prints, line by line.
class CodeListingReader {
 public:
  void take(std::string_view line);
  [[nodiscard]] CodeListing finish();

 private:
  using Numbers = std::map<std::string, std::uint32_t, std::less<>>;

  [[nodiscard]] static std::uint32_t number_of(std::string_view name, Numbers& numbers,
                                               std::vector<std::string>& names);
  void take_function(std::string_view name);
  bool take_instruction(std::string_view line);
  bool take_place(std::string_view line);

  CodeListing listing_;
  Numbers functions_;
  Numbers files_;
  CodeListing::Instruction next_;
};

}  // namespace qconform
