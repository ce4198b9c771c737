#include "harness/backends/specification.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "harness/base/text.h"

namespace qconform::backend {
namespace {

using SpecificationKind = Specification::Kind;

constexpr std::size_t kMostNameBytes = 48;

struct Prefix {
  std::string_view text;
  SpecificationKind kind;
};
constexpr Prefix kPrefixes[] = {{"plugin:", SpecificationKind::plugin},
                                {"process:", SpecificationKind::process},
                                {"defect:", SpecificationKind::defect}};

constexpr std::string_view kSpecial = ",\"@[]";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kWordCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
constexpr std::string_view kCpuCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:+";

bool consists_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

}  // namespace

bool is_key(std::string_view text) {
  return is_plain_value(text) && kLetters.find(text.front()) != std::string_view::npos;
}

bool is_plain_value(std::string_view text) {
  return consists_of(text, kWordCharacters);
}

namespace {

// The alias and number in front of a backend; `size` includes the = behind them.
struct Front {
  std::string_view alias;
  int number = 0;
  std::size_t size = 0;
};

// Reads the front of a backend; nothing where neither an alias nor a number stands there.
std::optional<Front> front_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  const std::string_view front = text.substr(0, equals);
  const std::size_t hash = front.find('#');
  Front result{front.substr(0, hash), 0, equals + 1};
  if (!result.alias.empty() && !is_key(result.alias)) return std::nullopt;
  if (hash == std::string_view::npos) return result.alias.empty() ? std::nullopt : std::optional(result);
  const auto [end, error] = std::from_chars(front.data() + hash + 1, front.data() + front.size(), result.number);
  const bool is_number = error == std::errc() && end == front.data() + front.size() && result.number > 1;
  return is_number && front[hash + 1] != '0' ? std::optional(result) : std::nullopt;
}

// PATH and COMMAND may hold anything.
bool holds_anything(SpecificationKind kind) {
  return kind == SpecificationKind::plugin || kind == SpecificationKind::process;
}

struct WordAndSettings {
  std::string word;
  std::vector<Setting> settings;
};
using ReadSettings = tl::expected<WordAndSettings, std::string>;
using ReadValue = tl::expected<std::string, std::string>;

// Takes a value from the front of `text`, up to a comma outside quotes or the end.
ReadValue take_value(std::string_view key, std::string_view& text) {
  if (!text.starts_with('"')) {
    const std::string_view value = text.substr(0, text.find(','));
    if (value.find_first_of(kSpecial) != std::string_view::npos) {
      return tl::unexpected(fmt::format("{}={}: a value with , \" @ [ or ] stands in double quotes", key, value));
    }
    text.remove_prefix(value.size());
    return std::string(value);
  }
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"' && !text.substr(i + 1).starts_with('"')) {
      text.remove_prefix(i + 1);
      if (text.empty() || text.front() == ',') return value;
      return tl::unexpected(fmt::format("expected a comma behind the quoted value of {}, got \"{}\"", key, text));
    }
    if (text[i] == '"') ++i;
    value += text[i];
  }
  return tl::unexpected(fmt::format("no end of the quoted value of {}", key));
}

// Reads the settings behind an @.
ReadSettings read_settings(std::string_view text) {
  WordAndSettings read;
  for (bool is_first = true;; is_first = false) {
    const std::string_view item = text.substr(0, text.find(','));
    const std::size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    if (is_first && consists_of(item, kWordCharacters)) {
      read.word = item;
      text.remove_prefix(item.size());
    } else if (equals != std::string_view::npos && is_key(key)) {
      text.remove_prefix(equals + 1);
      auto value = take_value(key, text);
      if (!value) return tl::unexpected(value.error());
      const auto is_same = [&](const Setting& setting) { return setting.key == key; };
      if (std::any_of(read.settings.begin(), read.settings.end(), is_same)) {
        return tl::unexpected(fmt::format("{} is set twice", key));
      }
      read.settings.push_back({std::string(key), std::move(*value)});
    } else {
      return tl::unexpected(fmt::format("expected {}, got \"{}\"",
                                        is_first ? "a word or KEY=VALUE behind the @" : "KEY=VALUE behind the comma",
                                        item));
    }
    if (text.empty()) return read;
    text.remove_prefix(1);
  }
}

// The settings that a path ends with, and where their @ is. Outside quotes settings hold no @, so that the first @
// behind which all is of their form is theirs.
std::optional<std::size_t> settings_of_path(std::string_view text) {
  for (std::size_t at = text.find('@'); at != std::string_view::npos; at = text.find('@', at + 1)) {
    const auto read = read_settings(text.substr(at + 1));
    if (read && read->word.empty()) return at;
  }
  return std::nullopt;
}

std::optional<std::size_t> cpu_at_the_end(std::string_view text) {
  const std::size_t open = text.rfind('[');
  if (!text.ends_with(']') || open == std::string_view::npos) return std::nullopt;
  if (!consists_of(text.substr(open + 1, text.size() - open - 2), kCpuCharacters)) return std::nullopt;
  return open;
}

// Whether an argument has an ending that would be taken for something else, any number of @ behind it.
bool ends_in_a_known_way(SpecificationKind kind, std::string_view text) {
  text = text.substr(0, text.find_last_not_of('@') + 1);
  if (text.ends_with(kValidOnly)) return true;
  return kind == SpecificationKind::plugin && (cpu_at_the_end(text) || settings_of_path(text));
}

// Takes [CPU] and @valid-only from the end.
void take_endings(std::string_view& text, Specification& what) {
  for (;;) {
    const auto cpu = cpu_at_the_end(text);
    if (text.ends_with(kValidOnly)) {
      what.valid_only = true;
      text.remove_suffix(kValidOnly.size());
    } else if (cpu && what.cpu.empty() && what.kind != SpecificationKind::process) {
      what.cpu = text.substr(*cpu + 1, text.size() - *cpu - 2);
      text = text.substr(0, *cpu);
    } else {
      return;
    }
  }
}

Result<void> take_settings(std::string_view whole, std::string_view text, Specification& what) {
  auto read = read_settings(text);
  if (!read) return fail("--backend", fmt::format("\"{}\": {}", whole, read.error()));
  what.word = std::move(read->word);
  what.settings = std::move(read->settings);
  return {};
}

Result<Specification> with_argument(std::string_view whole, std::string_view text, Specification what) {
  if (text.ends_with('@') && ends_in_a_known_way(what.kind, text)) {
    text.remove_suffix(1);
  } else if (const auto at = what.kind == SpecificationKind::plugin ? settings_of_path(text) : std::nullopt) {
    QCONFORM_TRY(take_settings(whole, text.substr(*at + 1), what));
    text = text.substr(0, *at);
  }
  if (what.kind == SpecificationKind::plugin && text.empty()) {
    return fail("--backend", fmt::format("\"{}\": expected PATH.so behind plugin:", whole));
  }
  if (what.kind == SpecificationKind::process && text.find_first_not_of(' ') == std::string_view::npos) {
    return fail("--backend", "process: needs a command: process:COMMAND");
  }
  what.name = text;
  return what;
}

Result<Specification> with_name(std::string_view whole, std::string_view text, Specification what) {
  const std::size_t at = text.find('@');
  if (at != std::string_view::npos) QCONFORM_TRY(take_settings(whole, text.substr(at + 1), what));
  what.name = text.substr(0, at);
  if (what.name.find_first_of("[]") != std::string::npos) {
    return fail("--backend",
                fmt::format("\"{}\": expected [CPU] at the end, CPU of letters, digits and . _ - : +", whole));
  }
  if (what.kind == SpecificationKind::named && what.name.find('=') != std::string::npos) {
    return fail("--backend",
                fmt::format("\"{}\": in front of a backend stands ALIAS=, of letters, digits and . _ -, and "
                            "a letter first",
                            whole));
  }
  if (what.kind == SpecificationKind::defect) return what;
  if (const std::size_t colon = what.name.find(':'); colon != std::string::npos) {
    what.version = what.name.substr(colon + 1);
    what.name.resize(colon);
    if (what.version.empty())
      return fail("--backend", fmt::format("\"{}\": expected a version behind the colon", whole));
  }
  if (what.name.empty()) return fail("--backend", fmt::format("expected a backend's name, got \"{}\"", whole));
  return what;
}

std::string value_text(const std::string& value) {
  if (value.find_first_of(kSpecial) == std::string::npos) return value;
  std::string text = "\"";
  for (const char c : value) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

// "1.14.0" as {1, 14, 0}: 1.9 is older than 1.14.
std::vector<int> numbers_of(std::string_view version) {
  std::vector<int> numbers;
  while (!version.empty()) {
    int number = 0;
    const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
    numbers.push_back(error == std::errc() ? number : 0);
    const std::size_t dot = version.find_first_of(".-", static_cast<std::size_t>(end - version.data()));
    version = dot == std::string_view::npos ? std::string_view() : version.substr(dot + 1);
  }
  return numbers;
}

}  // namespace

Result<Specification> parse_specification(std::string_view text) {
  const std::string_view whole = text;
  Specification what;
  if (const auto front = front_of(text)) {
    if (front->alias.size() > kMostNameBytes) {
      return fail("--backend", fmt::format("\"{}...\": an alias has at most {} characters", front->alias.substr(0, 16),
                                           kMostNameBytes));
    }
    what.alias = front->alias;
    what.number = front->number;
    text.remove_prefix(front->size);
  }
  for (const Prefix& prefix : kPrefixes) {
    if (!text.starts_with(prefix.text)) continue;
    what.kind = prefix.kind;
    text.remove_prefix(prefix.text.size());
    break;
  }
  take_endings(text, what);
  return holds_anything(what.kind) ? with_argument(whole, text, std::move(what))
                                   : with_name(whole, text, std::move(what));
}

namespace {

// Settings and what else stands behind a name.
std::string endings_of(const Specification& what) {
  std::string text;
  char separator = '@';
  if (!what.word.empty()) text += std::exchange(separator, ',') + what.word;
  for (const Setting& setting : what.settings) {
    text += std::exchange(separator, ',') + setting.key + "=" + value_text(setting.value);
  }
  const bool has_settings = separator == ',';
  if (!has_settings && holds_anything(what.kind) && ends_in_a_known_way(what.kind, what.name)) text += '@';
  if (!what.cpu.empty()) text += "[" + what.cpu + "]";
  if (what.valid_only) text += kValidOnly;
  return text;
}

std::string_view name_of_file(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

// The words of a command, without the quotes around them. For a name: what a shell would make of them is of no concern.
std::vector<std::string> command_words(std::string_view command) {
  std::vector<std::string> words;
  char quote = 0;
  bool is_open = false;
  for (const char c : command) {
    const bool is_space = c == ' ' || c == '\t' || c == '\n';
    if (quote == 0 && is_space) {
      is_open = false;
    } else if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else {
      if (!is_open) words.emplace_back();
      is_open = true;
      words.back() += c;
    }
  }
  return words;
}

bool runs_scripts(std::string_view program) {
  constexpr std::string_view kInterpreters[] = {"python", "pypy", "node", "deno", "bash",
                                                "sh",     "ruby", "perl", "julia"};
  const auto is_it = [&](std::string_view name) {
    const std::string_view rest = program.starts_with(name) ? program.substr(name.size()) : "no version";
    return rest.find_first_not_of("0123456789.") == std::string_view::npos;
  };
  return std::any_of(std::begin(kInterpreters), std::end(kInterpreters), is_it);
}

std::string program_name(std::string_view command) {
  const std::vector<std::string> words = command_words(command);
  const auto is_assignment = [](const std::string& word) { return front_of(word).has_value(); };
  auto word = std::find_if_not(words.begin(), words.end(), is_assignment);
  if (word == words.end()) return std::string(command);
  const std::string program(name_of_file(*word));
  if (!runs_scripts(program)) return program;
  if (std::find(word, words.end(), "qconform.serve") != words.end()) {
    const std::string& served = words.back();
    return served.substr(served.find_last_of(":.") + 1);
  }
  const auto script =
      std::find_if(word + 1, words.end(), [](const std::string& each) { return !each.starts_with('-'); });
  return script == words.end() ? program : std::string(name_of_file(*script));
}

// In the middle, where names differ least.
std::string cut_in_the_middle(std::string text) {
  if (text.size() <= kMostNameBytes) return text;
  constexpr std::string_view kCut = "...";
  constexpr std::size_t kFront = 28;
  const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  std::size_t front = kFront;
  std::size_t back = text.size() - (kMostNameBytes - kFront - kCut.size());
  while (is_inside(front)) --front;
  while (back < text.size() && is_inside(back)) ++back;
  return text.substr(0, front).append(kCut).append(text, back);
}

std::string number_text(const Specification& what) {
  return what.number == 0 ? "" : "#" + std::to_string(what.number);
}

// The name in reports of a backend that has no alias, without its number.
std::string plain_name(const Specification& what) {
  if (!holds_anything(what.kind)) {
    Specification plain = what;
    plain.number = 0;
    return text_of(plain);
  }
  const std::string name =
      what.kind == SpecificationKind::process ? program_name(what.name) : std::string(name_of_file(what.name));
  return (name.empty() ? what.name : name) + endings_of(what);
}

}  // namespace

std::string text_of(const Specification& what) {
  std::string text = what.alias + number_text(what);
  if (!text.empty()) text += '=';
  for (const Prefix& prefix : kPrefixes) {
    if (prefix.kind == what.kind) text += prefix.text;
  }
  text += what.name;
  if (!what.version.empty()) text += ":" + what.version;
  return text + endings_of(what);
}

std::string short_name(const Specification& what) {
  const std::string name = what.alias.empty() ? cut_in_the_middle(shown(plain_name(what))) : what.alias;
  return name + number_text(what);
}

std::string short_name(std::string_view text) {
  const auto what = parse_specification(text);
  return what ? short_name(*what) : cut_in_the_middle(shown(text));
}

void number_names(std::vector<Specification>& backends) {
  std::set<std::string> taken;
  for (Specification& what : backends) {
    while (!taken.insert(short_name(what)).second) what.number = std::max(what.number, 1) + 1;
  }
}

std::vector<std::string> split_specifications(std::string_view list) {
  std::vector<std::string> texts;
  bool is_quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '"') is_quoted = !is_quoted;
    if (i < list.size() && (list[i] != ',' || is_quoted)) continue;
    const std::string_view part = list.substr(begin, i - begin);
    begin = i + 1;
    const std::size_t equals = part.find('=');
    const bool is_setting = equals != std::string_view::npos && is_key(part.substr(0, equals));
    if (is_setting && !texts.empty() && texts.back().find('@') != std::string::npos) {
      texts.back() += "," + std::string(part);
    } else {
      texts.emplace_back(part);
    }
  }
  return texts;
}

std::string Accepted::text() const {
  std::vector<std::string> all;
  for (const std::string_view word : words) all.push_back(fmt::format("@{}", word));
  for (const SettingKey& key : keys) all.push_back(fmt::format("@{}={}", key.key, key.values));
  return fmt::format("{}", fmt::join(all, ", "));
}

Result<void> check_settings(const Specification& what, const Accepted& accepted) {
  const auto unknown = [&](const char* which, std::string_view name, std::vector<std::string_view> known) {
    const std::string all = accepted.text();
    return fail("--backend", fmt::format("\"{}\": no {} \"{}\"{} There {}{}@valid-only", text_of(what), which, name,
                                         ending_with_guess(name, known), all.empty() ? "is " : "are ",
                                         all.empty() ? "" : all + " and "));
  };
  const auto& words = accepted.words;
  if (!what.word.empty() && std::find(words.begin(), words.end(), what.word) == words.end()) {
    return unknown("word", what.word, words);
  }
  for (const Setting& setting : what.settings) {
    const auto is_it = [&](const Accepted::SettingKey& key) {
      return key.key.ends_with('*') ? setting.key.starts_with(key.key.substr(0, key.key.size() - 1))
                                    : setting.key == key.key;
    };
    if (std::any_of(accepted.keys.begin(), accepted.keys.end(), is_it)) continue;
    std::vector<std::string_view> known;
    for (const Accepted::SettingKey& key : accepted.keys) known.push_back(key.key);
    return unknown("key", setting.key, std::move(known));
  }
  return {};
}

bool names_a_file(const Specification& what) {
  return what.kind == Specification::Kind::named && what.version.find('/') != std::string::npos;
}

bool is_older(std::string_view a, std::string_view b) {
  const auto older = numbers_of(a);
  const auto newer = numbers_of(b);
  return older != newer ? older < newer : a < b;
}

bool begins_with(std::string_view version, std::string_view first) {
  if (!version.starts_with(first)) return false;
  const std::string_view rest = version.substr(first.size());
  return rest.empty() || rest.front() == '.' || rest.front() == '-';
}

Result<void> check_version(const Specification& what, std::string_view here) {
  const std::string& asked = what.version;
  if (asked.empty() || begins_with(here, asked)) return {};
  return fail("--backend",
              fmt::format("\"{}\": no release {} of {} here; there is {}", text_of(what), asked, what.name, here));
}

}  // namespace qconform::backend
