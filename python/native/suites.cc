// Suites of interface.h, and facts about the library.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/core/profile.h"
#include "harness/core/version.h"
#include "harness/suites/select.h"
#include "python/native/handles.h"

namespace qconform::python {
namespace {

using Json = nlohmann::ordered_json;

Json facts() {
  Json profiles = Json::array();
  for (const ProfileInfo& info : qconform::profiles()) {
    profiles.push_back({{"name", info.name}, {"description", info.description}});
  }
  Json suites = Json::array();
  for (const SuiteInfo& info : qconform::suites()) {
    suites.push_back({{"name", info.name}, {"description", info.description}});
  }
  return {{"version", kVersion}, {"profiles", profiles}, {"suites", suites}};
}

Answer<void> open(qconform_bytes name, std::uint64_t seed, std::int64_t cases, qconform_suite** result) {
  SuiteOptions options;
  options.seed = seed;
  if (cases >= 0) options.cases = static_cast<std::uint64_t>(cases);
  auto sources = open_suite(view_of(name), options);
  if (!sources) {
    Error error = sources.error();
    if (error.field == "--suite") error.field = "suite";
    return tl::unexpected(Refusal{std::move(error), std::string(view_of(name))});
  }
  auto made = std::make_unique<qconform_suite>();
  made->sources = std::move(*sources);
  *result = made.release();
  return {};
}

Result<void> next(qconform_suite& suite, qconform_case** result) {
  *result = nullptr;
  for (; suite.current < suite.sources.size(); ++suite.current) {
    auto found = suite.sources[suite.current]->next();
    if (!found) {
      suite.current = suite.sources.size();
      return tl::unexpected(std::move(found).error());
    }
    if (!*found) continue;
    *result = new qconform_case{std::make_shared<const Case>(**std::move(found))};
    return {};
  }
  return {};
}

Json facts_of(const qconform_suite& suite) {
  Json names = Json::array();
  Json skipped = Json::object();
  std::optional<std::uint64_t> size = 0;
  for (const auto& source : suite.sources) {
    names.push_back(source->name());
    const auto own = source->size();
    size = size && own ? std::optional(*size + *own) : std::nullopt;
    for (const auto& [reason, times] : source->skipped())
      skipped[reason] = skipped.value(reason, std::uint64_t{0}) + times;
    const auto nodes = source->node_coverage();
    if (!nodes) continue;
    for (const UncoveredNodes& part : nodes->uncovered) {
      const std::string key = part.op_type + ": " + part.reason;
      skipped[key] = skipped.value(key, std::uint64_t{0}) + part.nodes;
    }
  }
  return {{"sources", names}, {"size", size ? Json(*size) : Json(nullptr)}, {"skipped", skipped}};
}

Result<void> give(const Json& json, qconform_buffer* buffer) {
  *buffer = buffer_of(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  return {};
}

}  // namespace
}  // namespace qconform::python

using namespace qconform::python;

uint32_t qconform_python_interface(void) {
  return QCONFORM_PYTHON_INTERFACE;
}

void qconform_release_buffer(qconform_buffer* buffer) {
  std::free(buffer->data);
  *buffer = {nullptr, 0};
}

int32_t qconform_facts(qconform_buffer* facts, qconform_buffer* error) {
  return call(error, [&] { return give(qconform::python::facts(), facts); });
}

int32_t qconform_offer_corpus(qconform_bytes folder, qconform_buffer* error) {
  return call(error, [&]() -> qconform::Result<void> {
    qconform::offer_corpus(std::string(view_of(folder)));
    return {};
  });
}

int32_t qconform_suite_open(qconform_bytes name, uint64_t seed, int64_t cases, qconform_suite** result,
                            qconform_buffer* error) {
  return call(error, [&] { return open(name, seed, cases, result); });
}

void qconform_release_suite(qconform_suite* handle) {
  delete handle;
}

int32_t qconform_suite_next(qconform_suite* handle, qconform_case** result, qconform_buffer* error) {
  return locked(handle, error, [&] { return next(*handle, result); });
}

int32_t qconform_suite_facts(qconform_suite* handle, qconform_buffer* facts, qconform_buffer* error) {
  return locked(handle, error, [&] { return give(facts_of(*handle), facts); });
}
