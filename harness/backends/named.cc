#include <utility>

#include "harness/backends/forwarding.h"
#include "harness/backends/kinds.h"
#include "harness/backends/specification.h"

namespace qconform::backend {
namespace {

class Named final : public Forwarding {
 public:
  Named(std::unique_ptr<Backend> inner, std::string name, std::string specification)
      : Forwarding(std::move(inner)), info_(Forwarding::info()) {
    info_.name = std::move(name);
    info_.specification = std::move(specification);
  }
  [[nodiscard]] const BackendInfo& info() const override { return info_; }

 private:
  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> named(std::unique_ptr<Backend> inner, const Specification& what) {
  Specification plain = what;
  plain.alias.clear();
  plain.number = 0;
  std::string name = short_name(what);
  std::string specification = text_of(plain);
  if (name == specification) specification.clear();
  if (name == inner->info().name && specification.empty()) return inner;
  return std::make_unique<Named>(std::move(inner), std::move(name), std::move(specification));
}

}  // namespace qconform::backend
