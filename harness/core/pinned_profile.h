// What one backend computes, as a profile: the only right answers of a regression check of that backend.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace qconform {

/// The arithmetic of one operator. Names are those of harness/diagnose/identify/identify_ways.h.
struct Pin {
  std::string op_type;
  /// Element types of "x", "w" and "y" that it holds for; absent ones do not matter.
  std::map<std::string, std::string> types;
  std::map<std::string, std::string> ways;  ///< by aspect: {"product", "ort-f32"}
  bool operator==(const Pin&) const = default;
};

struct PinnedProfile {
  std::string name;  ///< of the backend, with its version
  std::vector<Pin> pins;
  std::string file = {};  ///< where it was read from; empty otherwise
  bool operator==(const PinnedProfile&) const = default;
};

}  // namespace qconform
