// The names of backends: the one grammar of names on the command line (docs/backends.md).
//
//     NAME[:VERSION][@SETTINGS]      what is built in or found: "avx2", "onednn:3.12@avx2", "onnxruntime@session.a=1"
//     plugin:PATH[@SETTINGS]         a library with the C interface: "plugin:./mine.so@threads=2"
//     process:COMMAND                a program that speaks the protocol
//     defect:ID[+ID]...[@SETTINGS]   a defect model: "defect:pads-order@ort-f32"; a learnt one by its file, which ends
//                                    in .json or has a /, and has no + and no @: "defect:./mine.json"
//
//     SETTINGS is WORD, KEY=VALUE[,KEY=VALUE]... or WORD,KEY=VALUE[,KEY=VALUE]...; of a plugin KEY=VALUE alone.
//
// In front of any of them may stand ALIAS=, what reports call the backend: letters, digits and . _ -, the first a
// letter, and # with a number, or that alone, where several would have the name.
//
// Behind any of them may stand [CPU], the processor (none of a process), and then @valid-only.
//
// A WORD has letters, digits and . _ -; a KEY has those too and begins with a letter. A VALUE with , " @ [ or ] stands
// in double quotes, where two of them are one. PATH and COMMAND are taken as they are, whatever they hold: only an
// ending that has the form of SETTINGS (PATH alone), [CPU] (likewise) or @valid-only is none of theirs. An @ behind
// such an ending makes it theirs: "plugin:dir@v=1/x.so@" has no settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"

namespace qconform::backend {

/// The word behind a backend's name that keeps cases out of contract from it.
inline constexpr std::string_view kValidOnly = "@valid-only";

struct Setting {
  std::string key;
  std::string value;
  bool operator==(const Setting&) const = default;
};

/// One backend, as a user names it.
struct Specification {
  enum class Kind : std::uint8_t { named, plugin, process, defect };
  Kind kind = Kind::named;
  std::string name;  ///< NAME, PATH, COMMAND or ID[+ID]...
  std::string version = {};
  std::string word = {};
  std::vector<Setting> settings = {};  ///< no KEY twice
  std::string cpu = {};                ///< as harness/backends/worker_command.h has it; empty for this processor
  bool valid_only = false;
  std::string alias = {};  ///< its name in reports; empty: short_name() finds one
  int number = 0;          ///< the number behind its name, where several backends would have that name; 0: none

  bool operator==(const Specification&) const = default;
};

/// Whether the text can be a setting's key: letters, digits, ., _ and -, with a letter in front.
[[nodiscard]] bool is_key(std::string_view text);
/// Whether the text is a value of such characters, which needs no quotes.
[[nodiscard]] bool is_plain_value(std::string_view text);

/// Errors name what is not of the grammar above, as "--backend". Whether there is such a backend, and whether it knows
/// the settings, is asked later.
[[nodiscard]] Result<Specification> parse_specification(std::string_view text);

/// The text that parses to `what`.
[[nodiscard]] std::string text_of(const Specification& what);

/// Returns the backend's name in reports, in one line of at most 48 bytes that no terminal takes for a command: its
/// alias; for a plugin the library's file name, and for a process the program's, the script's that an interpreter runs,
/// or the name of the object that qconform.serve serves, each with settings and processor; else text_of().
[[nodiscard]] std::string short_name(const Specification& what);
/// Returns the name in reports of the backend that `text` specifies; a text that is no specification is cut to length.
[[nodiscard]] std::string short_name(std::string_view text);
/// Numbers the second and further ones of a name: NAME#2, NAME#3 and so on.
void number_names(std::vector<Specification>& backends);

/// Several in one text, by commas. A part that begins with KEY= belongs to the one before, if that has an @.
[[nodiscard]] std::vector<std::string> split_specifications(std::string_view list);

/// The settings that may stand behind a backend's @.
struct Accepted {
  struct SettingKey {
    std::string_view key;     ///< with a * at its end any that begins so
    std::string_view values;  ///< "1 to 64", for the reader
  };
  std::vector<std::string_view> words = {};
  std::vector<SettingKey> keys = {};

  /// "@avx2, @avx512_core, @session.*=TEXT"; empty for nothing.
  [[nodiscard]] std::string text() const;
};

/// Errors: a word or key that is not accepted, with the nearest one and all that are.
[[nodiscard]] Result<void> check_settings(const Specification& what, const Accepted& accepted);

/// Whether a folder or file stands in the place of a version: "onnxruntime:./lib/libonnxruntime.so".
[[nodiscard]] bool names_a_file(const Specification& what);

/// Whether version `a` comes before `b`, number by number: "1.9" before "1.14.0".
[[nodiscard]] bool is_older(std::string_view a, std::string_view b);

/// Whether `first` is the version or its first numbers: "3.12" of "3.12.1", "2024-11" of "2024-11-08".
[[nodiscard]] bool begins_with(std::string_view version, std::string_view first);

/// Errors: a version is asked for, and `here` is neither that nor one that it begins ("3.12" of "3.12.1").
[[nodiscard]] Result<void> check_version(const Specification& what, std::string_view here);

}  // namespace qconform::backend
