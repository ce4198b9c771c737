// The JSON Schema (2020-12) of a described value, and a report held against the schema's rules.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "harness/forms/archive/archive.h"

namespace qconform {

using Json = nlohmann::ordered_json;

/// The texts by which a schema introduces itself; an empty id is left out.
struct SchemaHead {
  std::string_view id;
  std::string_view title;
  std::string_view description;
};

/// `describe` describes any value of the type: its members are stated, not its values.
[[nodiscard]] Json schema_of(const SchemaHead& head, const std::function<void(Archive&)>& describe);

}  // namespace qconform
