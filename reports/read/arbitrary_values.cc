#include "reports/read/arbitrary_values.h"

#include <algorithm>
#include <limits>

namespace qconform::testing {

std::string Values::text() const {
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

std::uint64_t Values::count() {
  return *rc::gen::inRange<std::uint64_t>(0, 1000000);
}

double Values::seconds() {
  return static_cast<double>(*rc::gen::inRange<std::int64_t>(0, 1000000000)) / 7e5;
}

bool Values::coin() {
  return *rc::gen::arbitrary<bool>();
}

VerdictKind Values::kind() {
  return static_cast<VerdictKind>(*rc::gen::inRange(0, kVerdictKinds));
}

std::map<std::string, std::uint64_t> Values::counts_by_text() const {
  std::map<std::string, std::uint64_t> result;
  for (const std::string& reason : texts(3)) {
    // Keys that are not UTF-8 could become alike.
    if (std::all_of(reason.begin(), reason.end(), [](char c) { return c >= 0; })) result[reason] = count();
  }
  return result;
}

ElementReport Values::element() const {
  ElementReport result;
  for (const std::uint64_t index : some(4, count)) result.index.push_back(static_cast<std::int64_t>(index));
  result.got = text();
  result.admissible = text();
  result.exact = text();
  result.distance = coin() ? seconds() : std::numeric_limits<double>::infinity();
  return result;
}

}  // namespace qconform::testing
