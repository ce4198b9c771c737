// One buffer tensor as JSON. Internal to the folder.
#pragma once

#include <cstdint>
#include <string>

#include "harness/forms/directml/description.h"
#include "harness/forms/json/json_fields.h"
#include "harness/forms/json/json_text.h"

namespace qconform::directml {

/// Reads the members of DML_BUFFER_TENSOR_DESC; contents are looked for, not read. An absent
/// TotalTensorSizeInBytes becomes the least possible one.
bool read_tensor_members(JsonFields& fields, const Json& value, const std::string& where, TensorRole role,
                         BufferTensor& out);

/// Reads "data" (every element once, in row-major order of the dimensions), "fill" (one value for
/// all) or "buffer" (what the buffer holds, gaps between strides included). The members have been
/// checked. `bytes_left` is what buffers may still take; it is reduced.
bool read_contents(JsonFields& fields, const Json& value, const std::string& where, std::int64_t& bytes_left,
                   BufferTensor& out);

/// Writes a tensor in the form that the two functions above read.
[[nodiscard]] Json tensor_object(const BufferTensor& tensor);

/// An array of UINT values, at most `limit` of them; a value that is none violates `rule`.
bool read_uints(JsonFields& fields, const Json& value, const std::string& where, std::size_t limit, const char* rule,
                std::vector<UINT>& out);
bool read_uint(JsonFields& fields, const Json& value, const std::string& where, const char* rule, UINT& out);

}  // namespace qconform::directml
