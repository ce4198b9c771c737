#include "harness/tests/arbitrary_archive.h"

#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <set>

namespace qconform::testing {
namespace {

constexpr std::uint64_t kMostCount = 1000000;
constexpr std::size_t kMostElements = 3;

}  // namespace

bool ArbitraryArchive::coin() {
  return *rc::gen::arbitrary<bool>();
}

std::uint64_t ArbitraryArchive::count() {
  return *rc::gen::inRange<std::uint64_t>(0, kMostCount);
}

std::string ArbitraryArchive::text() const {
  std::vector<std::string> hard{"",
                                "avx2",
                                "QLinearConv",
                                "x [1,2] * w",
                                "a\"b\\c/d",
                                "<b> & ]]> |`*_",
                                "line\nline",
                                "\x01\x1f\x7f",
                                "\xEF\xBF\xBE \xEF\xBF\xBF",
                                "gr\xC3\xBC\xC3\x9F"};
  if (texts_ == Texts::unicode) {
    return *rc::gen::oneOf(rc::gen::elementOf(std::move(hard)),
                           rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)));
  }
  hard.emplace_back("\xC3");
  return *rc::gen::oneOf(rc::gen::elementOf(std::move(hard)), rc::gen::string<std::string>());
}

void ArbitraryArchive::value(bool& value, const FieldRule& /*rule*/) {
  value = coin();
}

void ArbitraryArchive::value(std::uint64_t& value, const FieldRule& rule) {
  value = rule.form == Form::hex ? *rc::gen::arbitrary<std::uint64_t>()
                                 : static_cast<std::uint64_t>(rule.minimum.value_or(0)) + count();
}

void ArbitraryArchive::value(std::int64_t& value, const FieldRule& rule) {
  value = rule.minimum.value_or(0) + static_cast<std::int64_t>(count());
}

void ArbitraryArchive::value(double& value, const FieldRule& rule) {
  value = static_cast<double>(*rc::gen::inRange<std::int64_t>(0, 1000000000)) / 7e5;
  if (rule.form == Form::distance && coin()) value = std::numeric_limits<double>::infinity();
}

void ArbitraryArchive::value(std::string& value, const FieldRule& rule) {
  value = rule.names.empty() ? text() : std::string(rule.names[*rc::gen::inRange<std::size_t>(0, rule.names.size())]);
}

bool ArbitraryArchive::begin_member(std::string_view /*key*/, const FieldRule& /*rule*/, Presence presence,
                                    bool is_there) {
  return is_there || presence != Presence::omitted || coin();
}

std::size_t ArbitraryArchive::begin_list(std::size_t /*size*/, const FieldRule& rule) {
  return rule.min_items + *rc::gen::inRange<std::size_t>(0, kMostElements + 1);
}

std::vector<std::string> ArbitraryArchive::begin_map(std::vector<std::string> /*keys*/, const FieldRule& rule) {
  std::set<std::string> keys;
  for (const std::string_view name : rule.names) {
    if (coin()) keys.emplace(name);
  }
  for (std::size_t i = rule.names.empty() ? begin_list(0, {}) : 0; i > 0; --i) {
    const std::string key = text();
    // Keys that are not UTF-8 could become alike.
    if (std::all_of(key.begin(), key.end(), [](char c) { return c >= 0; })) keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

bool ArbitraryArchive::begin_nullable(bool /*is_null*/, const FieldRule& /*rule*/) {
  return coin();
}

}  // namespace qconform::testing
