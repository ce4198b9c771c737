#include "harness/onnx/isolated_inference.h"

#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <string>
#include <system_error>

#include "harness/core/address_space.h"
#include "harness/onnx/protobuf_file.h"

namespace qconform {
namespace {

constexpr rlim_t kCpuSeconds = 30;
constexpr rlim_t kAddressSpace = rlim_t{8} << 30;

void limit(int resource, rlim_t value) {
  const rlimit both{value, value};
  (void)::setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

bool write_all(int descriptor, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

std::string read_all(int descriptor) {
  std::string bytes;
  char block[1 << 16];
  while (true) {
    const ssize_t count = ::read(descriptor, block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return bytes;
    bytes.append(block, static_cast<std::size_t>(count));
  }
}

/// The child's life: infers, writes the model to the pipe, and leaves without running destructors or
/// exit handlers, which belong to the parent.
[[noreturn]] void infer_and_leave(onnx::ModelProto& model, InferenceErrors errors, int descriptor) {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_CPU, kCpuSeconds);
  if (kCanLimitAddressSpace) limit(RLIMIT_AS, kAddressSpace);
  (void)::close(STDERR_FILENO);  // a sanitizer's report of the library's crash is no report on us
  bool written = false;
  try {
    const onnx::ShapeInferenceOptions options(false, errors == InferenceErrors::report ? 1 : 0, false);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
    const auto bytes = message_bytes(model);
    written = bytes && write_all(descriptor, *bytes);
  } catch (const std::exception&) {
  } catch (...) {
  }
  ::_exit(written ? 0 : 1);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace

Result<void> infer_shapes_isolated(onnx::ModelProto& model, InferenceErrors errors) {
  int ends[2];
  if (::pipe(ends) != 0) return fail("shape inference", std::generic_category().message(errno));
  const pid_t child = ::fork();
  if (child < 0) {
    const int error = errno;
    (void)::close(ends[0]);
    (void)::close(ends[1]);
    return fail("shape inference", std::generic_category().message(error));
  }
  if (child == 0) {
    (void)::close(ends[0]);
    infer_and_leave(model, errors, ends[1]);
  }
  (void)::close(ends[1]);
  const std::string bytes = read_all(ends[0]);
  (void)::close(ends[0]);
  const int status = wait_for(child);
  if (WIFSIGNALED(status)) {
    return fail("shape inference", "ONNX's library died of signal " + std::to_string(WTERMSIG(status)));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fail("shape inference", "ONNX's library gave up");
  onnx::ModelProto inferred;
  if (const auto parsed = parse_message(bytes, inferred); !parsed) return parsed;
  model.Swap(&inferred);
  return {};
}

}  // namespace qconform
