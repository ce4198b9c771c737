#include "harness/suites/onnx_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
#include <map>
#include <new>
#include <set>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "harness/base/text.h"
#include "harness/model/draws/draws.h"
#include "harness/model/operator.h"
#include "harness/onnx/case_model.h"
#include "harness/onnx/graph_scope.h"
#include "harness/suites/model_nodes.h"

namespace qconform {
namespace {

/// A node that is a case by itself.
struct SingleNode {
  const GraphScope* scope;
  const onnx::NodeProto* node;
  std::uint64_t position;  // as ModelNodes counts
};

/// Nodes in their order, the bodies of a node's graph after the whole graph.
void walk(const GraphScope& scope, std::uint64_t& position, std::vector<SingleNode>& nodes) {
  for (const onnx::NodeProto& node : scope.graph().node()) {
    if (find_operator(node.domain(), node.op_type()) != nullptr) nodes.push_back({&scope, &node, position});
    ++position;
  }
  for (const auto& body : scope.bodies()) walk(*body, position, nodes);
}

/// "3 MatMulInteger (operator: ...)" for each operator and reason.
std::string left_out_text(const NodeCoverage& coverage) {
  std::string text;
  for (const UncoveredNodes& part : coverage.uncovered) {
    text += (text.empty() ? "" : ", ") + std::to_string(part.nodes) + " " + part.op_type + " (" + part.reason + ")";
  }
  return text;
}

/// Summaries group what is skipped by what stands before the first colon.
std::string without_colons(std::string text) {
  std::replace(text.begin(), text.end(), ':', ',');
  return text;
}

}  // namespace

namespace {

// Some makers leave out that their model takes operators of com.microsoft, which has one version; runtimes run it.
void import_microsoft(onnx::ModelProto& model) {
  constexpr const char* kDomain = "com.microsoft";
  const auto& imports = model.opset_import();
  const auto& nodes = model.graph().node();
  const bool is_imported =
      std::any_of(imports.begin(), imports.end(), [](const auto& import) { return import.domain() == kDomain; });
  const bool is_used =
      std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.domain() == kDomain; });
  if (is_imported || !is_used) return;
  onnx::OperatorSetIdProto& import = *model.add_opset_import();
  import.set_domain(kDomain);
  import.set_version(1);
}

}  // namespace

struct ModelCases::State {
  std::filesystem::path file;
  std::uint64_t seed = 0;
  std::size_t context = 0;
  std::int64_t sample = 0;
  std::string assumed;  // sizes of symbolic dimensions
  onnx::ModelProto model;
  std::unique_ptr<GraphScope> scope;
  std::vector<SingleNode> nodes;
  std::vector<ModelUnit> units;
  std::optional<ModelNodes> all;  // after open()
  std::size_t next = 0;           // position among the nodes, then the units
  ModelActivations activations;
  std::string why_drawn;

  Result<void> read(const ModelOptions& options);
  std::vector<std::vector<std::size_t>> behind;  // by step: see ModelStep
  // Sets the activations; an error where they must be computed and cannot be.
  Result<void> choose_activations(const ModelOptions& options);
  void find_ancestors();
  [[nodiscard]] std::set<std::string> values_around_cases() const;
  // Those of the run that are among `names`.
  [[nodiscard]] Result<NamedTensors> computed(const std::set<std::string>& names) const;
};

std::set<std::string> ModelCases::State::values_around_cases() const {
  std::set<std::string> names = values_around(units);
  for (const SingleNode& one : nodes) {
    if (one.scope != scope.get()) continue;
    for (const std::string& name : one.node->input()) {
      if (!name.empty() && scope->constant(name) == nullptr) names.insert(name);
    }
    names.insert(one.node->output().begin(), one.node->output().end());
  }
  return names;
}

Result<NamedTensors> ModelCases::State::computed(const std::set<std::string>& names) const {
  NamedTensors values;
  for (const std::string& name : names) {
    if (!activations.values.contains(name)) continue;
    QCONFORM_ASSIGN(values[name], activations.values.read(name));
  }
  return values;
}

// Steps of the outermost graph hand themselves on with the values that they give.
void ModelCases::State::find_ancestors() {
  behind.resize(nodes.size() + units.size());
  std::map<std::string, std::vector<std::size_t>> givers;  // steps by the values that they give
  std::map<const onnx::NodeProto*, std::vector<std::size_t>> begins;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].scope != scope.get()) continue;
    for (const std::string& name : nodes[i].node->output()) givers[name].push_back(i);
  }
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i].scope != scope.get()) continue;
    for (const std::string& name : units[i].outputs) givers[name].push_back(nodes.size() + i);
  }
  std::map<std::string, std::set<std::size_t>, std::less<>> before;  // all steps behind which a value stands
  const auto behind_names = [&](const auto& names) {
    std::set<std::size_t> earlier;
    for (const auto& name : names) {
      const auto found = before.find(std::string_view(name));
      if (found != before.end()) earlier.insert(found->second.begin(), found->second.end());
    }
    return std::vector<std::size_t>(earlier.begin(), earlier.end());
  };
  for (const onnx::NodeProto& node : scope->graph().node()) {
    const auto read = behind_names(names_read_by(node));
    for (const std::string& name : node.output()) {
      std::set<std::size_t>& own = before[name];
      own.insert(read.begin(), read.end());
      const auto found = givers.find(name);
      if (found != givers.end()) own.insert(found->second.begin(), found->second.end());
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].scope == scope.get()) behind[i] = behind_names(nodes[i].node->input());
  }
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i].scope == scope.get()) behind[nodes.size() + i] = behind_names(units[i].fed);
  }
}

namespace {

// Gives the inputs' dimensions the sizes that are stated, those of given inputs, then what is assumed, which it
// returns.
Result<std::string> sized(onnx::GraphProto& graph, const ModelOptions& options) {
  const bool assumes = options.inputs.empty() && options.activations != ModelOptions::Activations::drawn;
  QCONFORM_ASSIGN(auto assumed, set_dimensions(graph, options.dimensions, assumes));
  if (options.inputs.empty()) return assumed;
  QCONFORM_ASSIGN(const auto inputs, read_model_inputs(graph, options.inputs));
  QCONFORM_TRY(take_dimensions_of(inputs, graph));
  return assumed;
}

// "N = 1": the size that is taken for an unknown first dimension of the inputs.
std::string batch_text(const onnx::GraphProto& graph, std::int64_t size) {
  std::string label = "first dimension";
  for (const onnx::ValueInfoProto& input : graph.input()) {
    const auto& shape = input.type().tensor_type().shape();
    if (shape.dim_size() == 0 || shape.dim(0).dim_param().empty()) continue;
    label = printable(shape.dim(0).dim_param());
    break;
  }
  return fmt::format("{} = {}", label, size);
}

}  // namespace

Result<void> ModelCases::State::read(const ModelOptions& options) {
  QCONFORM_TRY(read_model(file, model));
  if (!model.has_graph()) return fail(file.string(), "has no graph");
  import_microsoft(model);
  QCONFORM_ASSIGN(assumed, in_context(file.string(), sized(*model.mutable_graph(), options)));
  scope = std::make_unique<GraphScope>(model.graph());
  std::uint64_t position = 0;
  walk(*scope, position, nodes);
  QCONFORM_TRY(in_context(file.string(), fold_constants(*scope, file.parent_path())));
  options.tell("finding the shapes in " + file.filename().string());
  propagate_shapes(model, *scope);
  QCONFORM_TRY(in_context(file.string(), check_sizes(*scope)));
  context = options.context;
  sample = options.sample;
  units = units_of(*scope, context);
  std::set<std::size_t> in_units;
  for (const ModelUnit& unit : units) {
    for (const std::size_t node : unit.positions()) in_units.insert(node);
  }
  if (options.keeps_units) {
    std::erase_if(nodes, [&](const SingleNode& node) { return in_units.contains(node.position); });
  }
  all.emplace(model, *scope, in_units);
  return {};
}

Result<void> ModelCases::State::choose_activations(const ModelOptions& options) {
  activations.origin = "activations drawn from seed " + std::to_string(seed);
  if (options.activations == ModelOptions::Activations::drawn) return {};
  const std::filesystem::path run_file = options.run_file.empty() ? file : options.run_file;
  options.tell("running " + run_file.filename().string());
  onnx::ModelProto other;
  if (!options.run_file.empty()) {
    QCONFORM_TRY(read_model(run_file, other));
    QCONFORM_TRY(in_context(run_file.string(), sized(*other.mutable_graph(), options)));
  }
  auto computed = compute_activations(options.run_file.empty() ? model : other, *scope,
                                      {.folder = run_file.parent_path(),
                                       .files = options.inputs,
                                       .seed = seed,
                                       .also = values_around_cases(),
                                       .within_units = values_within(units),
                                       .takes_nodes_apart = !options.keeps_units,
                                       .runtime = options.runtime,
                                       .memory = options.memory});
  if (computed) {
    activations = std::move(*computed);
    if (const auto first = scope->assumed_first_dimension(); first && options.inputs.empty()) {
      assumed = batch_text(model.graph(), *first) + (assumed.empty() ? "" : ", " + assumed);
    }
    if (!assumed.empty()) activations.origin += ", assumed " + assumed;
  } else if (options.activations == ModelOptions::Activations::computed || computed.error().rule == "limit") {
    return tl::unexpected(computed.error().in(file.string()));
  } else {
    why_drawn = without_colons(computed.error().text());
  }
  return {};
}

ModelCases::ModelCases(std::unique_ptr<State> state) : state_(std::move(state)) {}
ModelCases::~ModelCases() = default;

Result<std::unique_ptr<ModelCases>> ModelCases::open(const std::filesystem::path& file, std::uint64_t seed,
                                                     const ModelOptions& options) {
  auto state = std::make_unique<State>();
  state->file = file;
  state->seed = seed;
  QCONFORM_TRY(state->read(options));
  if (state->all->quantized() == 0) {
    return fail(file.string(), "has no quantized node; it has " + state->all->others_text());
  }
  const bool has_cases = !state->nodes.empty() || !state->units.empty();
  if (has_cases) QCONFORM_TRY(state->choose_activations(options));
  state->find_ancestors();
  if (!has_cases && options.activations == ModelOptions::Activations::computed) {
    return fail(file.string(),
                "no case can be made of its quantized nodes: " + left_out_text(state->all->coverage(nullptr)));
  }
  return std::unique_ptr<ModelCases>(new ModelCases(std::move(state)));
}

std::string ModelCases::name() const {
  const std::string name = "model:" + state_->file.string();
  return state_->activations.values.empty() ? name : name + ", " + origin();
}

const std::string& ModelCases::origin() const {
  return state_->activations.origin;
}

const std::string& ModelCases::why_drawn() const {
  return state_->why_drawn;
}

const std::string& ModelCases::disturbed() const {
  return state_->activations.disturbed;
}

const std::vector<ModelNodes::ModelNode>& ModelCases::nodes() const {
  return state_->all->entries();
}

std::size_t ModelCases::size() const {
  return state_->nodes.size() + state_->units.size();
}

Result<std::optional<ModelStep>> ModelCases::next() {
  if (state_->next >= state_->nodes.size()) return next_unit();
  const auto& [scope, node, position] = state_->nodes[state_->next++];
  const std::string label = node->name().empty() ? node->op_type() : printable(node->name());
  Rng rng(state_->seed, position);
  std::set<std::string> names(node->input().begin(), node->input().end());
  names.insert(node->output().begin(), node->output().end());
  QCONFORM_ASSIGN(const auto values, state_->computed(names));
  auto answer = case_from_model_node(state_->model, *node, *scope, state_->file.parent_path(), values,
                                     OnnxModelSuite::kGeneratedElements, rng);
  if (!answer) return tl::unexpected(answer.error().in(state_->file.string() + ": node " + label));
  const std::size_t number = state_->next - 1;
  ModelStep step{.test_case = {},
                 .positions = {position},
                 .reason = {},
                 .position = position,
                 .number = number,
                 .behind = state_->behind[number]};
  if (const auto* skipped = std::get_if<SkippedNode>(&*answer)) {
    step.reason = skipped->reason;
    return std::optional(std::move(step));
  }
  Case& result = step.test_case.emplace(std::move(std::get<Case>(*answer)));
  result.id = label + "#" + std::to_string(position);
  result.tags = {"model"};
  if (result.recorded_output() != nullptr) {
    result.note = state_->activations.origin;
  } else if (const auto first = state_->scope->assumed_first_dimension().value_or(kAssumedBatch);
             first != kAssumedBatch) {
    result.note +=
        (result.note.empty() ? "" : "; ") + ("first dimension of the model's inputs assumed: " + std::to_string(first));
  }
  result.provenance = {name(), state_->seed, position};
  return std::optional(std::move(step));
}

Result<std::optional<ModelStep>> ModelCases::next_unit() {
  if (state_->next >= size()) return std::optional<ModelStep>();
  ModelUnit unit = state_->units[state_->next++ - state_->nodes.size()];
  const std::size_t position = unit.first_node + unit.anchor;
  std::set<std::size_t> refused;
  const std::size_t number = state_->next - 1;
  ModelStep step{.test_case = {},
                 .positions = unit.positions(),
                 .reason = {},
                 .is_unit = true,
                 .position = position,
                 .number = number,
                 .behind = state_->behind[number]};
  while (true) {
    Rng rng(state_->seed, state_->nodes.size() + position);
    QCONFORM_ASSIGN(const auto values, state_->computed(values_around({unit})));
    auto answer = case_from_unit(state_->model, unit, state_->file.parent_path(), values,
                                 {OnnxModelSuite::kGeneratedElements, state_->sample}, rng);
    if (!answer) return tl::unexpected(answer.error().in(state_->file.string() + ": unit " + unit.name));
    const auto* skipped = std::get_if<SkippedNode>(&*answer);
    if (skipped == nullptr) {
      step.positions = unit.positions();
      step.test_case.emplace(std::move(std::get<Case>(*answer)));
      break;
    }
    if (step.reason.empty()) step.reason = skipped->reason;
    // Without a node that no case can hold, others may be judged.
    if (!skipped->node || !refused.insert(unit.nodes[*skipped->node]).second) return std::optional(std::move(step));
    auto smaller = unit_without(unit, refused, state_->context);
    if (!smaller) return std::optional(std::move(step));
    unit = std::move(*smaller);
  }
  Case& result = *step.test_case;
  result.id = unit.name + ".unit#" + std::to_string(position);
  result.tags = {"model", "unit"};
  if (!result.recorded_outputs.empty()) {
    result.note = state_->activations.origin + (result.note.empty() ? "" : "; ") + result.note;
  }
  result.provenance = {name(), state_->seed, position};
  return std::optional(std::move(step));
}

namespace {

// The messages of the process that has read the model. It opens with `told` and `opened` or `fault`; then come cases
// and what is left out, then `end` or `fault`.
constexpr char kTold = 't';    // a text that says what is being done
constexpr char kFault = 'f';   // field, message, rule
constexpr char kOpened = 'o';  // name, origin, why activations are drawn, steps, what taking values out disturbs; then
                               // three texts for each node
constexpr char kCase = 'c';    // positions, the case as a model, its own position, its number, numbers behind which
constexpr char kLeft = 'l';    // positions, reason, the reason as a suite states it or nothing
constexpr char kEnd = '.';

constexpr std::size_t kOpenedTexts = 5;
constexpr std::size_t kNodeTexts = 3;  // operator, whether it is quantized, why no case holds it
constexpr const char* kYes = "1";

// Reasons name values. Beyond that many, they are counted without the names.
constexpr std::size_t kMostReasons = 1000;

constexpr int kToldMilliseconds = 200;

bool send_fault(int pipe, const Error& error) {
  return send(pipe, {kFault, {error.field, error.message, error.rule}});
}

bool send_opened(int pipe, const ModelCases& cases) {
  PipeMessage message{
      kOpened, {cases.name(), cases.origin(), cases.why_drawn(), std::to_string(cases.size()), cases.disturbed()}};
  for (const ModelNodes::ModelNode& node : cases.nodes()) {
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
  return PipeMessage{kCase,
                     {positions, std::move(bytes), std::to_string(step.position), std::to_string(step.number),
                      fmt::format("{}", fmt::join(step.behind, ","))}};
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
      nodes_(std::vector<ModelNodes::ModelNode>()) {}

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
  suite->facts_ = options.facts;
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
  if (facts_ != nullptr) {
    facts_->origin = texts[1];
    facts_->disturbed = texts[4];
  }
  std::vector<ModelNodes::ModelNode> nodes;
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
  if (facts_ != nullptr) {
    const auto numbers = positions_in(texts[2] + "," + texts[3]);
    std::int64_t elements = 0;
    for (const Tensor& output : test_case.recorded_outputs) elements += output.elements();
    facts_->layers.push_back({test_case.id, numbers[0], numbers[1], digest_of(test_case), elements,
                              texts[4].empty() ? std::vector<std::size_t>() : positions_in(texts[4])});
  }
  return std::optional<Case>(std::move(test_case));
}

Result<std::optional<Case>> OnnxModelSuite::next() {
  while (!at_end_) {
    auto message = messages_.next();
    if (!message) return fault_of(message.error());
    const auto& [kind, texts] = *message;
    if (kind == kCase && texts.size() == 5) return case_of(texts);
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
