// Peers: runtimes that a program of harness/backends/peers asks, out of a root of scripts/library-root. They are
// libraries of a run that names them.
#pragma once

#include <string_view>
#include <vector>

#include "harness/backends/library.h"

namespace qconform::libraries {

struct Peer {
  std::string_view name;                     ///< as on the command line, and of its roots
  std::string_view description;              ///< the runtime's name and what it takes, for lists
  std::string_view program;                  ///< NAME.py of harness/backends/peers, or a program in bin of the root
  std::vector<std::string_view> words = {};  ///< words that may stand behind the @; the program gets the one that does
  std::string_view key = {};                 ///< the only key behind the @; the program gets KEY=VALUE
  std::string_view values = {};              ///< the values of the key, for the reader: "f32 or bf16"
};

[[nodiscard]] backend::Library peer(const Peer& what);

}  // namespace qconform::libraries
