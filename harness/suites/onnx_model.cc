#include "harness/suites/onnx_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <cerrno>
#include <charconv>
#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "harness/base/text.h"
#include "harness/onnx/case_model.h"
#include "harness/suites/model_cases.h"

namespace qconform {
namespace {

// The messages of the process that has read the model. It opens with `told` and `opened` or `fault`; then come cases
// and what is left out, then `end` or `fault`.
constexpr char kTold = 't';    // a text that says what is being done
constexpr char kFault = 'f';   // field, message, rule
constexpr char kOpened = 'o';  // name, origin, why activations are drawn, steps; then three texts for each node
constexpr char kCase = 'c';    // positions, the case as a model
constexpr char kLeft = 'l';    // positions, reason, the reason as a suite states it or nothing
constexpr char kEnd = '.';

constexpr std::size_t kOpenedTexts = 4;
constexpr std::size_t kNodeTexts = 3;  // operator, whether it is quantized, why no case holds it
constexpr const char* kYes = "1";

// Reasons name values. Beyond that many, they are counted without the names.
constexpr std::size_t kMostReasons = 1000;

constexpr int kToldMilliseconds = 200;

bool send_fault(int pipe, const Error& error) {
  return send(pipe, {kFault, {error.field, error.message, error.rule}});
}

bool send_opened(int pipe, const ModelCases& cases) {
  PipeMessage message{kOpened, {cases.name(), cases.origin(), cases.why_drawn(), std::to_string(cases.size())}};
  for (const ModelNodes::Entry& node : cases.nodes()) {
    message.texts.insert(message.texts.end(), {node.op_type, node.is_quantized ? kYes : "", node.reason});
  }
  return send(pipe, message);
}

Result<PipeMessage> message_of(const ModelStep& step) {
  const std::string positions = fmt::format("{}", fmt::join(step.positions, ","));
  if (!step.test_case) {
    return PipeMessage{kLeft, {positions, step.reason, step.is_unit ? "unit: " + step.reason : ""}};
  }
  QCONFORM_ASSIGN(auto bytes, case_to_model(*step.test_case));
  return PipeMessage{kCase, {positions, std::move(bytes)}};
}

Result<void> serve(const std::filesystem::path& file, std::uint64_t seed, ModelOptions options, int pipe) {
  options.tell = [pipe](const std::string& text) { (void)send(pipe, {kTold, {text}}); };
  QCONFORM_ASSIGN(const auto cases, ModelCases::open(file, seed, options));
  bool is_read = send_opened(pipe, *cases);
  while (is_read) {
    QCONFORM_ASSIGN(const auto step, cases->next());
    if (!step) break;
    QCONFORM_ASSIGN(const auto message, message_of(*step));
    is_read = send(pipe, message);
  }
  (void)send(pipe, {kEnd, {}});
  return {};
}

// The life of the process that reads the model.
void serve_confined(const std::filesystem::path& file, std::uint64_t seed, const ModelOptions& options,
                    const ForkLimits& limits, int pipe) {
  confine(limits);
  try {
    if (const auto served = serve(file, seed, options, pipe); !served) send_fault(pipe, served.error());
  } catch (const std::bad_alloc&) {
    Error error = limits.out_of_memory().in(file.string());
    error.message += kMoreMemory;
    send_fault(pipe, error);
  } catch (const std::exception& failure) {
    send_fault(pipe, {file.string(), failure.what(), {}});
  }
}

std::vector<std::size_t> positions_in(const std::string& text) {
  std::vector<std::size_t> positions;
  for (const std::string_view part : split(text, ",")) {
    std::size_t position = 0;
    (void)std::from_chars(part.data(), part.data() + part.size(), position);
    positions.push_back(position);
  }
  return positions;
}

}  // namespace

OnnxModelSuite::OnnxModelSuite(std::filesystem::path file, const ForkLimits& limits, Descriptor read,
                               ForkedProcess process)
    : file_(std::move(file)),
      limits_(limits),
      read_(std::move(read)),
      process_(std::move(process)),
      messages_(read_.get()),
      nodes_(std::vector<ModelNodes::Entry>()) {}

Result<std::unique_ptr<OnnxModelSuite>> OnnxModelSuite::open(const std::filesystem::path& file, std::uint64_t seed,
                                                             const ModelOptions& options) {
  const ForkLimits limits{.cpu_seconds = ForkLimits::kUnlimited, .address_space = options.memory};
  Pipe pipe;
  if (!pipe.open()) return fail(file.string(), std::generic_category().message(errno));
  ForkedProcess process(ForkedProcess::Group::shared, [&] {
    pipe.read.close();
    serve_confined(file, seed, options, limits, pipe.write.get());
  });
  if (!process.is_running()) return fail(file.string(), std::generic_category().message(errno));
  pipe.write.close();
  std::unique_ptr<OnnxModelSuite> suite(new OnnxModelSuite(file, limits, std::move(pipe.read), std::move(process)));
  QCONFORM_TRY(suite->begin(options));
  return suite;
}

// Says why the reader failed. A process that ended without a word had too little memory for the word too.
tl::unexpected<Error> OnnxModelSuite::fault_of(const Error& error) {
  at_end_ = true;
  const int status = process_.end();
  if (WIFSIGNALED(status)) {
    const std::string end = "its reader died of signal " + std::to_string(WTERMSIG(status));
    return fail(file_.string(), end + ": it is damaged, or " + limits_.out_of_memory().message + kMoreMemory);
  }
  return tl::unexpected(error.in(file_.string()));
}

Result<void> OnnxModelSuite::begin(const ModelOptions& options) {
  std::string told = "reading " + file_.filename().string();
  while (true) {
    auto message = messages_.next(kToldMilliseconds);
    if (!message) return fault_of(message.error());
    options.tell(told);
    if (!*message) continue;
    auto& [kind, texts] = **message;
    if (kind == kTold && texts.size() == 1) {
      told = texts[0];
    } else if (kind == kFault && texts.size() == 3) {
      return fail(texts[0], texts[1], texts[2]);
    } else if (kind == kOpened) {
      return take_opened(std::move(texts));
    }
  }
}

Result<void> OnnxModelSuite::take_opened(std::vector<std::string> texts) {
  if (texts.size() < kOpenedTexts) return fault_of({"", "is damaged", {}});
  name_ = texts[0];
  origin_ = texts[1];
  if (!texts[2].empty()) ++skipped_["a run of the model, activations are drawn instead (" + texts[2] + ")"];
  size_ = positions_in(texts[3]).front();
  std::vector<ModelNodes::Entry> nodes;
  for (std::size_t i = kOpenedTexts; i + kNodeTexts <= texts.size(); i += kNodeTexts) {
    nodes.push_back({std::move(texts[i]), texts[i + 1] == kYes, std::move(texts[i + 2])});
  }
  nodes_ = ModelNodes(std::move(nodes));
  return {};
}

void OnnxModelSuite::leave_out(const std::vector<std::string>& texts) {
  for (const std::size_t position : positions_in(texts[0])) nodes_.leave_out(position, texts[1]);
  if (texts[2].empty()) return;
  const bool is_known = skipped_.contains(texts[2]) || skipped_.size() < kMostReasons;
  ++skipped_[is_known ? texts[2] : texts[2].substr(0, texts[2].find(" '"))];
}

Result<std::optional<Case>> OnnxModelSuite::case_of(const std::vector<std::string>& texts) {
  nodes_.add_case(positions_in(texts[0]));
  QCONFORM_ASSIGN(auto test_case, in_context(file_.string(), case_from_model(texts[1])));
  return std::optional<Case>(std::move(test_case));
}

Result<std::optional<Case>> OnnxModelSuite::next() {
  while (!at_end_) {
    auto message = messages_.next();
    if (!message) return fault_of(message.error());
    const auto& [kind, texts] = *message;
    if (kind == kCase && texts.size() == 2) return case_of(texts);
    if (kind == kLeft && texts.size() == 3) leave_out(texts);
    if (kind == kFault && texts.size() == 3) {
      at_end_ = true;
      return fail(texts[0], texts[1], texts[2]);
    }
    at_end_ = kind == kEnd;
  }
  return std::optional<Case>();
}

std::optional<NodeCoverage> OnnxModelSuite::node_coverage(const std::vector<std::string>* why_not) const {
  NodeCoverage coverage = nodes_.coverage(why_not);
  coverage.suite = name();
  return coverage;
}

}  // namespace qconform
