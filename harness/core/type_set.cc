#include "harness/core/type_set.h"

#include <vector>

namespace qconform {

std::string TypeSet::text() const {
  std::vector<std::string> names;
  for (std::int32_t number = 0; number < 64; ++number) {
    const auto type = static_cast<ElementType>(number);
    if (contains(type)) names.push_back(name_of(type));
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return text;
}

}  // namespace qconform
