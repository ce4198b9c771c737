#include "harness/backends/kinds.h"

#include <dlfcn.h>

#include <string>

#include "harness/backends/plugin_versions.h"

namespace qconform::backend {
namespace {

static_assert(QC_FLOAT8E8M0 == static_cast<int>(ElementType::float8e8m0));
static_assert(QC_INT2 == static_cast<int>(ElementType::int2));

Result<std::unique_ptr<Backend>> open_version_1(void* entry, const Specification& what) {
  const auto backend_of = reinterpret_cast<decltype(&qconform_backend)>(entry);
  const qc_backend* functions = backend_of(QC_ABI_VERSION);
  if (functions == nullptr) {
    return fail(plugin_field(what), "works with neither version 2 nor version 1 of qconform/backend.h");
  }
  if (functions->abi_version != QC_ABI_VERSION) {
    return fail(plugin_field(what), "built for version " + std::to_string(functions->abi_version) +
                                        " of qconform/backend.h, expected 1 or a function qconform_backend_2");
  }
  return plugin_of_version_1(*functions, what);
}

}  // namespace

std::string plugin_field(const Specification& what) {
  return "plugin:" + what.name;
}

std::string PluginReason::text(const char* otherwise) {
  memory.back() = '\0';
  return memory.front() == '\0' ? otherwise : memory.data();
}

std::optional<PluginRefusal> refusal_of(int status, PluginReason& reason) {
  switch (status) {
    case QC_OK: return std::nullopt;
    case QC_UNSUPPORTED: return outcome::Unsupported{reason.text("unsupported, without a reason")};
    case QC_REJECTED: return outcome::Rejected{reason.text("rejected, without a reason")};
    default: break;
  }
  const std::string given = reason.text("");
  return outcome::BrokenInterface{"status " + std::to_string(status) + ", which qconform/backend.h does not define" +
                                  (given.empty() ? "" : ": " + given)};
}

void* allocate_for_plugin(OutputSink& sink, std::size_t output, std::int32_t type, std::int32_t rank,
                          const std::int64_t* dims) {
  if (rank < 0 || (rank > 0 && dims == nullptr)) return nullptr;
  const std::span<const std::int64_t> shape(dims, static_cast<std::size_t>(rank));
  const auto element_type = static_cast<ElementType>(type);
  if (!checked_bytes("y", element_type, shape)) return nullptr;
  return sink.allocate(output, element_type, shape).data();
}

Result<std::unique_ptr<Backend>> load_plugin(const Specification& what) {
  // A name without a slash would be looked up in the system's library folders.
  const std::string file = what.name.find('/') == std::string::npos ? "./" + what.name : what.name;
  // Never closed: the library may have left threads and exit handlers behind.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(plugin_field(what), dlerror());
  if (void* entry = dlsym(library, "qconform_backend_2")) {
    const qc2_backend* functions = reinterpret_cast<decltype(&qconform_backend_2)>(entry)();
    if (functions == nullptr) return fail(plugin_field(what), "its qconform_backend_2 says that it cannot work here");
    return plugin_of_version_2(*functions, what);
  }
  if (void* entry = dlsym(library, "qconform_backend")) return open_version_1(entry, what);
  return fail(plugin_field(what),
              "exports neither qconform_backend_2 nor qconform_backend; with qconform/node.hpp, "
              "QC2_EXPORT_KERNEL(Class) at the end of the file does");
}

}  // namespace qconform::backend
