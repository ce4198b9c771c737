// The place in the code where a signal ended a backend.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace qconform {

/// For a signal's handler: writes where the innermost function lay that belongs to no library of the system, as
/// "libdnnl.so.2: _ZN4dnnl..." with a symbol, "libdnnl.so.2+0x1234" without one, or "generated code"; ends it with a
/// zero. `context`: the handler's. Walks the stack, which may be damaged: what is to survive a second signal is to be
/// written before.
void write_crash_place(const void* context, std::span<char> text);

/// To be called once before: what walking the stack needs is loaded then.
void prepare_crash_places();

/// Returns the place for a reader: symbols as in the source, without parameters.
[[nodiscard]] std::string readable_crash_place(const std::string& place);

}  // namespace qconform
