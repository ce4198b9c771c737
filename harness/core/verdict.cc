#include "harness/core/verdict.h"

#include <array>

namespace qconform {
namespace {

constexpr std::array<std::string_view, kVerdictKinds> kNames{
    "pass", "wrong", "bad-shape", "not-rejected", "crashed", "timed-out", "out-of-bounds", "unwritten", "unsupported"};

}  // namespace

std::string_view name_of(VerdictKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

bool is_failure(VerdictKind kind) {
  return kind != VerdictKind::pass && kind != VerdictKind::unsupported;
}

}  // namespace qconform
