// A backend as a process, for tests: right, or wrong in the way that its argument says at the case whose x has
// 13 elements. With a second argument that is a folder, that one case; else what stdin asks.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

#include "harness/backends/process_backend.h"
#include "harness/backends/select.h"
#include "harness/base/file.h"
#include "harness/engine/execute.h"
#include "harness/graphs/case_graph.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/protobuf.h"
#include "harness/tests/stand_ins.h"

namespace {

using namespace qconform;
using backend::Message;
using backend::MessageKind;

constexpr std::size_t kManyBytes = std::size_t{1} << 20;

void put(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) std::exit(9);
  (void)std::fflush(stdout);
}

void put_message(MessageKind kind, std::uint32_t number, const std::string& payload) {
  put(backend::message_header(kind, number, payload.size()) + payload);
}

struct WorkerAnswer {
  MessageKind kind;
  std::string payload;
};

// Faults of an adapter, in every case.
constexpr std::array<std::string_view, 6> kFaults{"first-node-only", "first-output-only", "outputs-swapped",
                                                  "scalar-as-one",   "elements-reversed", "one-too-many"};
bool has_fault(const std::string& how) {
  return std::find(kFaults.begin(), kFaults.end(), how) != kFaults.end();
}

void plant(const std::string& how, std::vector<Tensor>& outputs) {
  if (how == "first-output-only") outputs.resize(1);
  if (how == "outputs-swapped") std::reverse(outputs.begin(), outputs.end());
  for (Tensor& tensor : outputs) {
    if (how == "scalar-as-one" && tensor.shape.empty()) tensor.shape = {1};
    if (how == "elements-reversed" && bits_of(tensor.type) == 8) std::reverse(tensor.bytes.begin(), tensor.bytes.end());
    // A wrong number, as of a library.
    if (how == "one-too-many" && !tensor.bytes.empty()) tensor.bytes[0] ^= std::byte{1};
  }
}

// Returns what an adapter hands on that takes the first node for the case.
Case first_node_of(Case test_case) {
  test_case.nodes.resize(1);
  return in_own_order(std::move(test_case));
}

// One message, or one for each output.
std::vector<WorkerAnswer> answers_to(Backend& backend, const Case& test_case, const std::string& how = {}) {
  GuardedOutput output;
  const Outcome outcome = execute(backend, test_case, output);
  if (const auto* unsupported = std::get_if<outcome::Unsupported>(&outcome))
    return {{MessageKind::unsupported, unsupported->reason}};
  if (const auto* rejected = std::get_if<outcome::Rejected>(&outcome))
    return {{MessageKind::rejected, rejected->reason}};
  std::vector<WorkerAnswer> answers;
  std::vector<Tensor> outputs = std::get<outcome::Produced>(outcome).outputs;
  plant(how, outputs);
  for (const Tensor& tensor : outputs) {
    onnx::TensorProto proto;
    write_tensor(tensor, "y", proto);
    answers.push_back({MessageKind::part, *message_bytes(proto)});
  }
  answers.back().kind = MessageKind::done;
  return answers;
}

// Kernel sets take single nodes.
Backend& computing(const Case& test_case, Backend& scalar) {
  static const auto interpreter = *backend::select("interpreter", RoundingProfile::correctly_rounded);
  return is_judged_as_graph(test_case) ? *interpreter : scalar;
}

[[noreturn]] void hang() {
  for (;;) (void)pause();
}

// Leaves a process that has no parent here and no part in this one's group or session.
[[noreturn]] void leave_a_daemon(const char* file) {
  if (fork() == 0) {
    (void)setsid();
    if (fork() == 0) {
      std::FILE* note = std::fopen(file, "we");
      if (note != nullptr) {
        (void)std::fprintf(note, "%d\n", static_cast<int>(getpid()));
        (void)std::fclose(note);
      }
      hang();
    }
    _exit(0);
  }
  (void)wait(nullptr);
  hang();
}

[[noreturn]] void flood(std::FILE* stream) {
  const std::string much(kManyBytes, '*');
  while (std::fwrite(much.data(), 1, much.size(), stream) == much.size()) continue;
  std::exit(9);
}

[[noreturn]] void devour() {
  std::vector<char*> held;
  for (;;) {
    char* memory = static_cast<char*>(std::malloc(kManyBytes));
    if (memory == nullptr) hang();
    std::memset(memory, 1, kManyBytes);
    held.push_back(memory);
  }
}

// Goes wrong as `how` says, in the ways that do not depend on where cases come from.
void go_wrong(const std::string& how, const char* file) {
  if (how == "hangs") hang();
  if (how == "exits") std::exit(3);
  if (how == "segfaults") {
    (void)std::fputs("about to fail\n", stderr);
    (void)signal(SIGSEGV, SIG_DFL);  // a sanitizer has its own
    (void)raise(SIGSEGV);
  }
  if (how == "devours") devour();
  if (how == "floods-stderr") flood(stderr);
  if (how == "leaves-a-daemon") leave_a_daemon(file);
}

// Answers wrongly as `how` says, in the ways that concern messages; false where the right answer follows.
bool answer_wrong(const std::string& how, const Message& request, const WorkerAnswer& right) {
  const std::string header = backend::message_header(right.kind, request.number, right.payload.size());
  if (how == "garbage") return put("Traceback: no such thing\n"), true;
  if (how == "exits-in-the-answer") return put(header + right.payload.substr(0, 2)), std::exit(0), true;
  if (how == "huge") return put(backend::message_header(MessageKind::done, request.number, 0xFFFFFFFFU)), true;
  if (how == "closes-stdout") return (void)fclose(stdout), hang(), true;
  if (how == "endless") return put(header + right.payload + "****"), flood(stdout), true;
  if (how == "wrong-number") return put_message(right.kind, request.number - 1, right.payload), true;
  if (how == "no-tensor") return put_message(MessageKind::done, request.number, "\x08\x02garbage"), true;
  if (how == "answers-twice") put(header + right.payload + header + right.payload);
  if (how == "speaks-much") (void)std::fputs(std::string(kManyBytes * 3, '.').c_str(), stderr);
  return how == "answers-twice";
}

bool is_the_one(const Case& test_case) {
  const Tensor* x = test_case.input(0);
  return x != nullptr && x->elements() == qconform::testing::Rows::kHostile;
}

// Declines what is not a row of ConvInteger, by the description: there are no data of x and w, which the model's inputs
// are.
void answer_plan(const Message& request, const std::string& how) {
  onnx::ModelProto model;
  if (!model.ParseFromString(request.payload)) std::exit(9);
  const onnx::GraphProto& graph = model.graph();
  const bool is_row = graph.node_size() == 1 && graph.node(0).op_type() == "ConvInteger" && graph.input_size() == 2 &&
                      graph.initializer_size() == 0;
  if (!is_row) return put_message(MessageKind::unsupported, request.number, "no row by its plan");
  const auto& dims = graph.input(0).type().tensor_type().shape();
  const bool is_hostile = dims.dim_size() == 3 && dims.dim(2).dim_value() == qconform::testing::Rows::kHostile;
  put_message(how == "done-at-the-plan" && is_hostile ? MessageKind::done : MessageKind::taken, request.number, "");
}

// x, or what is fed to the graph: each an initializer too, of the same type.
bool declares_inputs(const std::string& bytes) {
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) return false;
  const onnx::GraphProto& graph = model.graph();
  if (graph.node_size() == 1) {
    const auto& read = graph.node(0).input();
    return graph.input_size() > 0 && std::all_of(graph.input().begin(), graph.input().end(), [&](const auto& input) {
             return std::find(read.begin(), read.end(), input.name()) != read.end();
           });
  }
  const auto& held = graph.initializer();
  return graph.input_size() > 0 &&
         std::all_of(graph.input().begin(), graph.input().end(), [&](const onnx::ValueInfoProto& input) {
           return std::any_of(held.begin(), held.end(), [&](const onnx::TensorProto& tensor) {
             return tensor.name() == input.name() && tensor.data_type() == input.type().tensor_type().elem_type();
           });
         });
}

int answer_stdin(Backend& scalar, const std::string& how, const char* file) {
  const bool plans = how == "plans" || how == "done-at-the-plan";
  const char* capabilities = plans                    ? "\nplans\nunits\nreads-minds"
                             : how == "assumes-valid" ? "\nassumes-valid"
                             : how == "pins"          ? "\npinned threads=1\npinned precision=float32"
                             : how == "units" || how == "parts-only" || has_fault(how) ? "\nunits"
                             : how == "fed-inputs"                                     ? "\nunits\nfed-inputs"
                                                                                       : "";
  put_message(MessageKind::hello, backend::kProcessProtocol, std::string("test child 1.0") + capabilities);
  std::string bytes;
  for (std::vector<char> block(std::size_t{1} << 16);;) {
    const ssize_t count = read(STDIN_FILENO, block.data(), block.size());
    if (count <= 0) return 0;
    bytes.append(block.data(), static_cast<std::size_t>(count));
    auto request = backend::take_message(bytes);
    if (!request) return 9;
    if (!*request) continue;
    if ((*request)->kind == MessageKind::plan) {
      answer_plan(**request, how);
      continue;
    }
    const auto test_case = case_from_model((*request)->payload);
    if (!test_case || (how == "fed-inputs" && !declares_inputs((*request)->payload))) return 9;
    const bool wrong = is_the_one(*test_case);
    if (wrong) go_wrong(how, file);
    const Case asked = how == "first-node-only" ? first_node_of(*test_case) : *test_case;
    std::vector<WorkerAnswer> right = answers_to(computing(asked, scalar), asked, how);
    if (wrong && answer_wrong(how, **request, right.back())) continue;
    if (how == "parts-only") right.back().kind = MessageKind::part;
    for (const WorkerAnswer& answer : right) put_message(answer.kind, (*request)->number, answer.payload);
  }
}

int answer_folder(Backend& scalar, const std::string& how, const std::filesystem::path& folder, const char* file) {
  const auto cases = read_case_folder(folder);
  if (!cases || cases->size() != 1) return 9;
  if (is_the_one(cases->front())) {
    go_wrong(how, file);
    if (how == "no-file") return 0;
  }
  const std::vector<WorkerAnswer> right = answers_to(computing(cases->front(), scalar), cases->front());
  const WorkerAnswer& last = right.back();
  (void)std::printf("a line before\n%s\n", last.kind == MessageKind::done ? "computed" : last.payload.c_str());
  if (last.kind == MessageKind::unsupported) return backend::kExitUnsupported;
  if (last.kind == MessageKind::rejected) return backend::kExitRejected;
  const bool damaged = how == "no-tensor" && is_the_one(cases->front());
  for (std::size_t i = 0; i < right.size(); ++i) {
    const auto written = folder / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb");
    if (!write_file(written, damaged ? "garbage" : right[i].payload)) return 9;
  }
  return 0;
}

}  // namespace

// usage: process_child HOW [FILE [FOLDER]]; FILE: where the daemon notes its number, or -
int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "right";
  const char* file = argc > 2 ? argv[2] : "-";
  if (how == "says-nothing") hang();
  if (how == "speaks-another-version") {
    put_message(MessageKind::hello, backend::kProcessProtocol + 1, "too new");
    hang();
  }
  auto scalar = backend::select("scalar", RoundingProfile::correctly_rounded);
  if (!scalar) return 9;
  return argc > 3 ? answer_folder(**scalar, how, argv[3], file) : answer_stdin(**scalar, how, file);
}
