#include "harness/forms/archive/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace qconform {

namespace {

// Describes a number of fewer bits than an archive's numbers have.
template <typename Number>
void describe_narrow(Archive& archive, Number& value, const FieldRule& rule) {
  constexpr std::int64_t kMost = std::numeric_limits<Number>::max();
  auto wide = static_cast<std::int64_t>(value);
  archive.value(wide, rule);
  if (!archive.fills()) return;
  const std::int64_t least = rule.minimum.value_or(0);
  if (wide < least || wide > kMost) {
    return archive.refuse(fmt::format("expected a number from {} to {}, got {}", least, kMost, wide));
  }
  value = static_cast<Number>(wide);
}

}  // namespace

void describe(Archive& archive, int& value, const FieldRule& rule) {
  describe_narrow(archive, value, rule);
}

void describe(Archive& archive, std::uint32_t& value, const FieldRule& rule) {
  describe_narrow(archive, value, rule);
}

void describe_name(Archive& archive, std::size_t& position, const FieldRule& rule, const char* what) {
  std::string name(archive.fills() ? std::string_view() : rule.names[position]);
  archive.value(name, rule);
  if (!archive.fills() || !archive.is_sound()) return;
  const auto found = std::find(rule.names.begin(), rule.names.end(), name);
  if (found == rule.names.end()) return archive.refuse(fmt::format("no {} \"{}\"", what, name));
  position = static_cast<std::size_t>(found - rule.names.begin());
}

void describe_constant(Archive& archive, std::string_view key, std::string_view text) {
  if (!archive.begin_member(key, {}, Presence::always, true)) return;
  archive.constant(text);
  archive.end_member();
}

void describe_format(Archive& archive, std::string_view format, std::uint64_t version) {
  // A document that is read without the key may be anything, so its absence is an error of its own.
  const Presence presence = archive.fills() ? Presence::omitted : Presence::always;
  if (!archive.begin_member("format", {}, presence, true)) {
    return archive.refuse(fmt::format("misses the key \"format\": this is no {}", format));
  }
  archive.constant(format);
  archive.end_member();
  if (!archive.begin_member("version", {}, Presence::always, true)) return;
  archive.version(version);
  archive.end_member();
}

namespace {

template <typename T>
void describe_stated(Archive& archive, std::string_view key, const std::function<T()>& compute, const FieldRule& rule,
                     const std::function<std::string(T stated, T computed)>& contradiction) {
  T stated = archive.fills() ? T() : compute();
  if (!archive.begin_member(key, rule, Presence::always, true)) return;
  archive.value(stated, rule);
  archive.end_member();
  if (!archive.fills()) return;
  archive.check_at_end([&archive, key, compute, stated, contradiction] {
    if (const T computed = compute(); stated != computed) archive.refuse_member(key, contradiction(stated, computed));
  });
}

}  // namespace

void describe_derived(Archive& archive, std::string_view key, std::function<std::uint64_t()> sum,
                      const FieldRule& rule) {
  describe_stated<std::uint64_t>(archive, key, sum, rule, [](std::uint64_t stated, std::uint64_t parts) {
    return fmt::format("{}, but its parts are {} together", stated, parts);
  });
}

void describe_derived(Archive& archive, std::string_view key, std::function<bool()> conclusion, const char* source,
                      const FieldRule& rule) {
  describe_stated<bool>(archive, key, conclusion, rule, [source](bool stated, bool concluded) {
    return fmt::format("{}, but the {} say {}", stated, source, concluded);
  });
}

}  // namespace qconform
