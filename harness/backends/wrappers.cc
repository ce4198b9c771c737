#include <utility>

#include "harness/backends/kinds.h"
#include "harness/backends/specification.h"
#include "harness/backends/wrappers.h"

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
