#include <utility>

#include "harness/backends/forwarding.h"
#include "harness/backends/kinds.h"

namespace qconform::backend {
namespace {

class WithSiblings final : public Forwarding {
 public:
  WithSiblings(std::unique_ptr<Backend> inner, std::vector<std::string> names, OpenSibling open)
      : Forwarding(std::move(inner)), open_(std::move(open)), info_(Forwarding::info()) {
    info_.siblings = std::move(names);
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] std::span<const std::unique_ptr<Backend>> siblings() override {
    if (is_open_) return opened_;
    is_open_ = true;
    for (const std::string& name : info_.siblings) {
      // One that does not open would fail by itself where the user names it; here there is nothing to ask.
      if (auto sibling = open_(name)) opened_.push_back(std::move(*sibling));
    }
    return opened_;
  }

 private:
  OpenSibling open_;
  BackendInfo info_;
  bool is_open_ = false;
  std::vector<std::unique_ptr<Backend>> opened_;
};

}  // namespace

std::unique_ptr<Backend> with_siblings(std::unique_ptr<Backend> inner, std::vector<std::string> names,
                                       OpenSibling open) {
  if (names.empty()) return inner;
  return std::make_unique<WithSiblings>(std::move(inner), std::move(names), std::move(open));
}

}  // namespace qconform::backend
