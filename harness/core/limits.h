// Bounds on what is read from files, so that a damaged or hostile one cannot exhaust the machine.
// Stated for users in docs/formats.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qconform::limits {

inline constexpr std::size_t kRank = 32;                                     ///< dimensions of a tensor
inline constexpr std::int64_t kElements = std::int64_t{1} << 30;             ///< elements of a tensor
inline constexpr std::int64_t kTensorBytes = std::int64_t{1} << 30;          ///< stored bytes of a tensor
inline constexpr std::int64_t kOnnxFileBytes = (std::int64_t{1} << 31) - 1;  ///< protobuf's own limit
inline constexpr std::uint64_t kModelMemory = std::uint64_t{4} << 30;        ///< memory of a process that reads a model
inline constexpr std::int64_t kJsonFileBytes = std::int64_t{64} << 20;
inline constexpr std::size_t kJsonDepth = 32;                     ///< nested arrays and objects
inline constexpr std::size_t kJsonKeys = 64;                      ///< keys of one object
inline constexpr std::size_t kJsonValues = std::size_t{1} << 24;  ///< values in one file
inline constexpr std::int64_t kJsonTensorBytes = kTensorBytes;    ///< all tensors of one JSON file together
inline constexpr std::size_t kNodes = 256;                        ///< nodes of a case
inline constexpr std::size_t kGraphTensors = 1024;                ///< tensors of a case of several nodes
inline constexpr std::size_t kInputs = 64;                        ///< inputs, and outputs, of a node
inline constexpr std::size_t kAttributes = 64;                    ///< attributes of a node
inline constexpr std::size_t kAttributeValues = 256;              ///< values of one attribute

}  // namespace qconform::limits
