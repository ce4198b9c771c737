// A plugin that takes units: DequantizeLinear -> Conv [-> Relu] -> QuantizeLinear in two dimensions, as one integer
// convolution with one requantization. With `wrong=yes`, what it fuses forgets the activation or the bias, unless the
// switch of that fusion is off.
#include <qconform/backend.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Value = const qc_value*;

// Returns the value that a node of the graph reads at that position; null for an omitted one.
Value input(const qc_graph& graph, const qc_node& node, size_t position) {
  const int32_t at = position < node.input_count ? node.inputs[position] : -1;
  return at < 0 ? nullptr : graph.values[at];
}

// The node that computes what `reader` reads, if it has that name.
const qc_node* producer(const qc_graph& graph, const qc_node& reader, size_t position, const char* op_type) {
  if (position >= reader.input_count) return nullptr;
  for (size_t i = 0; i < graph.node_count; ++i) {
    const qc_node& node = *graph.nodes[i];
    if (node.outputs[0] == reader.inputs[position] && std::strcmp(node.op_type, op_type) == 0) return &node;
  }
  return nullptr;
}

struct Unit {
  std::string refusal;
  size_t nodes = 0;  // how many nodes of the graph it is made of
  Value x = nullptr, w = nullptr, bias = nullptr;
  double x_scale = 1, w_scale = 1, bias_scale = 1, y_scale = 1;
  int64_t x_zero_point = 0, w_zero_point = 0, y_zero_point = 0;
  int32_t y_type = QC_UINT8;
  bool has_relu = false;
  int64_t strides[2] = {1, 1}, pads[4] = {0, 0, 0, 0};
};

int64_t code(const void* data, int64_t i, int32_t type) {
  if (type == QC_INT32) return static_cast<const int32_t*>(data)[i];
  if (type == QC_INT8) return static_cast<const int8_t*>(data)[i];
  return static_cast<const uint8_t*>(data)[i];
}

// Scale and zero point of a Q or DQ with one of each. The data of parameters are there as soon as `supports` asks.
bool read_parameters(const qc_graph& graph, const qc_node* node, double& scale, int64_t& zero_point, int32_t* type) {
  if (node == nullptr || node->attribute_count != 0) return false;
  const Value given = input(graph, *node, 1);
  const Value zero = input(graph, *node, 2);
  if (given == nullptr || given->type != QC_FLOAT32 || given->rank != 0 || given->data == nullptr) return false;
  scale = *static_cast<const float*>(given->data);
  if (zero == nullptr) return true;
  if (zero->rank != 0 || zero->data == nullptr) return false;
  if (zero->type != QC_UINT8 && zero->type != QC_INT8 && zero->type != QC_INT32) return false;
  zero_point = code(zero->data, 0, zero->type);
  if (type != nullptr) *type = zero->type;
  return true;
}

bool read_attributes(const qc_node& conv, Unit& unit) {
  for (size_t i = 0; i < conv.attribute_count; ++i) {
    const qc_attribute& attribute = *conv.attributes[i];
    int64_t* to = std::strcmp(attribute.name, "strides") == 0 ? unit.strides
                  : std::strcmp(attribute.name, "pads") == 0  ? unit.pads
                                                              : nullptr;
    if (to == nullptr || attribute.kind != QC_INTS || attribute.count > 4) return false;
    std::copy(attribute.ints, attribute.ints + attribute.count, to);
  }
  return true;
}

bool is_8_bit(Value value) {
  return value != nullptr && (value->type == QC_UINT8 || value->type == QC_INT8) && value->rank == 4;
}

Unit unit_of(const qc_graph& graph) {
  Unit unit;
  const auto refuse = [&](const char* why) {
    unit.refusal = why;
    return unit;
  };
  const qc_node& q = *graph.nodes[graph.node_count - 1];
  if (std::strcmp(q.op_type, "QuantizeLinear") != 0 || graph.output_count != 1)
    return refuse("only units that end in Q");
  const qc_node* relu = producer(graph, q, 0, "Relu");
  const qc_node* conv = producer(graph, relu == nullptr ? q : *relu, 0, "Conv");
  if (conv == nullptr) return refuse("only Conv, with or without Relu");
  const qc_node* x = producer(graph, *conv, 0, "DequantizeLinear");
  const qc_node* w = producer(graph, *conv, 1, "DequantizeLinear");
  const qc_node* bias = producer(graph, *conv, 2, "DequantizeLinear");
  unit.nodes = 4 + (relu != nullptr) + (bias != nullptr);
  if (unit.nodes != graph.node_count) return refuse("only one unit");
  if (!read_parameters(graph, x, unit.x_scale, unit.x_zero_point, nullptr) ||
      !read_parameters(graph, w, unit.w_scale, unit.w_zero_point, nullptr) ||
      !read_parameters(graph, &q, unit.y_scale, unit.y_zero_point, &unit.y_type)) {
    return refuse("only one scale and zero point for each tensor");
  }
  unit.x = input(graph, *x, 0);
  unit.w = input(graph, *w, 0);
  if (!is_8_bit(unit.x) || !is_8_bit(unit.w)) return refuse("only 8 bits and two dimensions");
  if (!read_attributes(*conv, unit) || unit.x->dims[1] != unit.w->dims[1]) return refuse("only strides and pads");
  unit.has_relu = relu != nullptr;
  unit.bias = bias != nullptr ? input(graph, *bias, 0) : input(graph, *conv, 2);
  int64_t nothing = 0;
  if (bias != nullptr && !read_parameters(graph, bias, unit.bias_scale, nothing, nullptr)) {
    return refuse("only one scale of the bias");
  }
  if (bias == nullptr && conv->input_count > 2) return refuse("only a quantized bias");
  if (unit.x->kind != QC_INPUT || unit.w->kind != QC_CONSTANT || (bias != nullptr && unit.bias->kind == QC_INPUT)) {
    return refuse("only x fed");
  }
  return unit;
}

/// Fusions that are wrong.
struct Wrong {
  bool forgets_relu = false;
  bool forgets_bias = false;
};

int open(const qc_setup* setup, void** state, qc_reason* reason) {
  static Wrong wrong;
  bool has_relu_fusion = true;
  bool has_bias_fusion = true;
  bool is_wrong = false;
  for (size_t i = 0; i < setup->argument_count; ++i) {
    const std::string key = setup->arguments[i]->key;
    if (key == "wrong") {
      is_wrong = true;
    } else if (key == "relu-fusion") {
      has_relu_fusion = false;
    } else if (key == "bias-fusion") {
      has_bias_fusion = false;
    } else {
      std::snprintf(reason->text, reason->text_size, "no argument %s", key.c_str());
      return QC_REJECTED;
    }
  }
  wrong = {is_wrong && has_relu_fusion, is_wrong && has_bias_fusion};
  *state = &wrong;
  return QC_OK;
}

int supports(void* /*state*/, const qc_graph* graph, qc_reason* reason) {
  const Unit unit = unit_of(*graph);
  std::snprintf(reason->text, reason->text_size, "%s", unit.refusal.c_str());
  return unit.refusal.empty() ? QC_OK : QC_UNSUPPORTED;
}

// The centred sum of one output element.
int64_t sum_of(const Unit& unit, const void* x, int64_t image, int64_t channel, int64_t row, int64_t column) {
  const int64_t* in = unit.x->dims;
  const int64_t* w = unit.w->dims;
  int64_t sum = 0;
  for (int64_t c = 0; c < w[1]; ++c) {
    for (int64_t i = 0; i < w[2]; ++i) {
      for (int64_t j = 0; j < w[3]; ++j) {
        const int64_t y = row * unit.strides[0] - unit.pads[0] + i;
        const int64_t z = column * unit.strides[1] - unit.pads[1] + j;
        if (y < 0 || y >= in[2] || z < 0 || z >= in[3]) continue;
        const int64_t a = code(x, ((image * in[1] + c) * in[2] + y) * in[3] + z, unit.x->type);
        const int64_t b = code(unit.w->data, ((channel * w[1] + c) * w[2] + i) * w[3] + j, unit.w->type);
        sum += (a - unit.x_zero_point) * (b - unit.w_zero_point);
      }
    }
  }
  return sum;
}

int run(void* state, void* /*node*/, const qc_run* run, qc_reason* /*reason*/) {
  Unit unit = unit_of(*run->graph);
  const Wrong& wrong = *static_cast<const Wrong*>(state);
  if (wrong.forgets_relu) unit.has_relu = false;
  if (wrong.forgets_bias) unit.bias = nullptr;
  int64_t dims[4] = {unit.x->dims[0], unit.w->dims[0], 0, 0};
  for (int d = 0; d < 2; ++d) {
    dims[d + 2] = (unit.x->dims[d + 2] + unit.pads[d] + unit.pads[d + 2] - unit.w->dims[d + 2]) / unit.strides[d] + 1;
  }
  void* memory = run->allocate(run->context, 0, unit.y_type, 4, dims);
  if (memory == nullptr) return QC_REJECTED;
  const int lowest = unit.y_type == QC_INT8 ? -128 : 0;
  for (int64_t i = 0; i < dims[0] * dims[1] * dims[2] * dims[3]; ++i) {
    const int64_t channel = i / dims[3] / dims[2] % dims[1];
    const int64_t sum = sum_of(unit, run->inputs[0]->data, i / dims[3] / dims[2] / dims[1], channel,
                               i / dims[3] % dims[2], i % dims[3]);
    double real = static_cast<double>(sum) * unit.x_scale * unit.w_scale;
    if (unit.bias != nullptr) real += static_cast<double>(code(unit.bias->data, channel, QC_INT32)) * unit.bias_scale;
    if (unit.has_relu) real = std::max(real, 0.0);
    const double y = std::nearbyint(real / unit.y_scale) + static_cast<double>(unit.y_zero_point);
    static_cast<uint8_t*>(memory)[i] =
        static_cast<uint8_t>(static_cast<int>(std::clamp(y, lowest + 0.0, lowest + 255.0)));
  }
  return QC_OK;
}

}  // namespace

extern "C" const qc_backend* qconform_backend(void) {
  static const qc_argument parts[] = {{sizeof(qc_argument), "relu-fusion", "off"},
                                      {sizeof(qc_argument), "bias-fusion", "off"}};
  static const qc_argument* const switches[] = {&parts[0], &parts[1]};
  static const qc_backend backend = [] {
    qc_backend it{};
    it.size = sizeof it;
    it.name = "unit";
    it.version = "1";
    it.capabilities = QC_UNITS;
    it.open = open;
    it.supports = supports;
    it.run = run;
    it.switch_count = 2;
    it.switches = switches;
    return it;
  }();
  return &backend;
}
