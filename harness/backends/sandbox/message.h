// Cases and outcomes as bytes, between qconform and its workers on the same machine.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "harness/core/backend.h"

namespace qconform {

/// The first message of a worker: which backend it has, or why it has none.
struct Hello {
  BackendInfo info;
  std::string error;  ///< empty when it went well
};

/// Bytes that encode() writes.
[[nodiscard]] std::size_t encoded_size(const Case& test_case);
[[nodiscard]] std::size_t encoded_size(const Outcome& outcome);
[[nodiscard]] std::size_t encoded_size(const Hello& hello);

/// `memory` holds encoded_size() bytes. Of a case only what a backend may look at is sent: operator,
/// version, attributes, inputs, and the id. Of an outcome the log is sent too.
void encode(const Case& test_case, std::span<std::byte> memory);
void encode(const Outcome& outcome, std::span<std::byte> memory);
void encode(const Hello& hello, std::span<std::byte> memory);

/// Nothing, or false, where the bytes are damaged: a backend may have written over them.
/// decode_case() keeps the memory of the case that was there.
[[nodiscard]] bool decode_case(std::span<const std::byte> memory, Case& test_case);
[[nodiscard]] std::optional<Outcome> decode_outcome(std::span<const std::byte> memory);
[[nodiscard]] std::optional<Hello> decode_hello(std::span<const std::byte> memory);

}  // namespace qconform
