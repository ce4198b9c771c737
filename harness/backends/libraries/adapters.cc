#include "harness/backends/libraries/adapters.h"

#include "harness/model/operator.h"

namespace qconform::libraries {

Preparation refused(const Case& test_case, std::string message) {
  return refused_as<Preparation>(test_case, std::move(message));
}

Outcome refusal(const Case& test_case, std::string message) {
  return refused_as<Outcome>(test_case, std::move(message));
}

std::string one_line(std::string message) {
  constexpr std::size_t kLongest = 1000;
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  while (!message.empty() && message.back() == ' ') message.pop_back();
  if (message.size() > kLongest) message = message.substr(0, kLongest - 3) + "...";
  return message;
}

}  // namespace qconform::libraries
