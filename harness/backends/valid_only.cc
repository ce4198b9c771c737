#include <utility>

#include "harness/backends/forwarding.h"
#include "harness/backends/kinds.h"

namespace qconform::backend {
namespace {

class ValidOnly final : public Forwarding {
 public:
  ValidOnly(std::unique_ptr<Backend> inner, std::string name)
      : Forwarding(std::move(inner)), info_(Forwarding::info()) {
    info_.name = std::move(name);
    info_.valid_only = true;
  }
  [[nodiscard]] const BackendInfo& info() const override { return info_; }

 private:
  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> valid_only(std::unique_ptr<Backend> inner, std::string name) {
  return std::make_unique<ValidOnly>(std::move(inner), std::move(name));
}

}  // namespace qconform::backend
