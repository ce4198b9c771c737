// What arbitrary reports are made of. Inside of RapidCheck properties.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/report.h"
#include "reports/read/arbitrary_report.h"

namespace qconform::testing {

class Values {
 public:
  explicit Values(Texts texts) : texts_(texts) {}

  [[nodiscard]] std::string text() const;
  /// A text that is not empty.
  [[nodiscard]] std::string summary() const { return "x " + text(); }
  [[nodiscard]] static std::uint64_t count();
  [[nodiscard]] static double seconds();
  [[nodiscard]] static bool coin();
  [[nodiscard]] static VerdictKind kind();
  [[nodiscard]] std::map<std::string, std::uint64_t> counts_by_text() const;
  [[nodiscard]] ElementReport element() const;

  /// Up to `most` of what `make` draws.
  template <typename Make>
  [[nodiscard]] static auto some(int most, Make make) {
    return several(*rc::gen::inRange(0, most + 1), make);
  }
  template <typename Make>
  [[nodiscard]] static auto several(int number, Make make) {
    std::vector<decltype(make())> values(static_cast<std::size_t>(number));
    for (auto& value : values) value = make();
    return values;
  }
  [[nodiscard]] std::vector<std::string> texts(int most) const {
    return some(most, [this] { return text(); });
  }

 private:
  Texts texts_;
};

[[nodiscard]] Finding arbitrary_finding(const Values& values);
[[nodiscard]] CampaignState arbitrary_campaign(const Values& values);
[[nodiscard]] CaseResults arbitrary_results(const Values& values, std::size_t backends);

}  // namespace qconform::testing
