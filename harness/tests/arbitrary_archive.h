// Invents described values (harness/forms/archive), for property tests. Inside of RapidCheck properties.
#pragma once

#include <cstdint>
#include <string>

#include "harness/forms/archive/archive.h"
#include "harness/report/report.h"

namespace qconform::testing {

/// Bytes that are not UTF-8 reach a report too: in what a backend prints, say. JSON cannot keep them.
enum class Texts : std::uint8_t { bytes, unicode };

/// Invents texts with markup and control characters among them, lists of up to three elements, and numbers in their
/// rules' ranges. The caller has to see to what holds between members.
class ArbitraryArchive final : public Archive {
 public:
  explicit ArbitraryArchive(Texts texts) : texts_(texts) {}

  [[nodiscard]] static bool coin();
  [[nodiscard]] static std::uint64_t count();
  [[nodiscard]] std::string text() const;

  [[nodiscard]] bool fills() const override { return true; }
  void value(bool& value, const FieldRule& rule) override;
  void value(std::uint64_t& value, const FieldRule& rule) override;
  void value(std::int64_t& value, const FieldRule& rule) override;
  void value(double& value, const FieldRule& rule) override;
  void value(std::string& value, const FieldRule& rule) override;
  void constant(std::string_view /*text*/) override {}
  void version(std::uint64_t /*number*/) override {}
  void begin_object(const TypeInfo& /*type*/) override {}
  void end_object() override {}
  bool begin_member(std::string_view key, const FieldRule& rule, Presence presence, bool is_there) override;
  void end_member() override {}
  std::size_t begin_list(std::size_t size, const FieldRule& rule) override;
  void begin_element(std::size_t /*index*/) override {}
  void end_element() override {}
  void end_list() override {}
  std::vector<std::string> begin_map(std::vector<std::string> keys, const FieldRule& rule) override;
  void begin_entry(const std::string& /*key*/) override {}
  void end_entry() override {}
  void end_map() override {}
  bool begin_nullable(bool is_null, const FieldRule& rule) override;
  void end_nullable() override {}

 private:
  Texts texts_;
};

// Arbitrary reports for property tests: every member takes values; sums agree with their parts, as those of a run do.

/// Inside of a RapidCheck property. Cases have what a report that was read has: id, operator and summary.
[[nodiscard]] Report arbitrary_report(Texts texts = Texts::bytes);

}  // namespace qconform::testing
