// DirectML's quantized linear convolution: what its description can say beyond ONNX's operator, and
// what it leaves open.
#include "corpus/author/description_topic.h"
#include "corpus/author/topics.h"

namespace qconform::author {
namespace {

constexpr const char* kFolder = "dml_quantized_linear_convolution/";

void write_parameters(DescriptionTopic& topic) {
  // Two output channels, so that per tensor and per channel differ.
  const auto two_channels = [&](const DescriptionTopic::Label& label, const DescriptionTopic::Edits& more) {
    DescriptionTopic::Edits edits{
        {"/FilterTensor", R"({"DataType": "INT8", "Sizes": [2, 1, 1, 1], "data": [10, 10]})"},
        {"/OutputTensor/Sizes", "[1, 2, 1, 3]"},
    };
    edits.insert(edits.end(), more.begin(), more.end());
    topic.computed(label, edits);
  };
  const char* scales = R"({"DataType": "FLOAT32", "Sizes": [1, 2, 1, 1], "data": [1, 2]})";
  const char* zero_points = R"({"DataType": "INT8", "Sizes": [1, 2, 1, 1], "data": [3, -3]})";
  const char* zero_point = R"({"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [4]})";
  topic.computed({"nothing-optional", "zero points and bias null: each is 0", {"C15"}, {"null"}}, {});
  topic.computed({"input-zero-point-alone", "filter and output zero point null", {"C15"}, {"null"}},
                 {{"/InputZeroPointTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 1], "data": [2]})"}});
  topic.computed({"filter-zero-point-alone", "input and output zero point null", {"C15"}, {"null"}},
                 {{"/FilterZeroPointTensor", zero_point}});
  topic.computed({"output-zero-point-alone", "input and filter zero point null", {"C15"}, {"null"}},
                 {{"/OutputZeroPointTensor", zero_point}});
  topic.computed({"bias-alone", "in units of input scale times filter scale, every zero point null", {"C20"}, {"null"}},
                 {{"/BiasTensor", R"({"DataType": "INT32", "Sizes": [1, 1, 1, 1], "data": [-8]})"},
                  {"/InputScaleTensor/data", "[0.5]"}});
  two_channels({"filter-scale-per-channel", "{1, M, 1, 1}, the zero point null", {"C13"}, {"per-channel", "null"}},
               {{"/FilterScaleTensor", scales}});
  two_channels({"filter-scale-per-channel-zero-point-per-tensor",
                "a mixture that DirectML allows: 4 holds for both channels",
                {"C12", "C13"},
                {"per-channel"}},
               {{"/FilterScaleTensor", scales}, {"/FilterZeroPointTensor", zero_point}});
  two_channels({"filter-zero-point-per-channel-scale-per-tensor",
                "a mixture that DirectML allows: 1 holds for both channels",
                {"C12", "C13"},
                {"per-channel"}},
               {{"/FilterZeroPointTensor", zero_points}});
  two_channels({"filter-parameters-per-channel",
                "scale and zero point per channel, with a bias",
                {"C13", "C20"},
                {"per-channel"}},
               {{"/FilterScaleTensor", scales},
                {"/FilterZeroPointTensor", zero_points},
                {"/BiasTensor", R"({"DataType": "INT32", "Sizes": [1, 2, 1, 1], "data": [5, -6]})"}});
  two_channels({"filter-parameters-per-tensor", "{1, 1, 1, 1} for two output channels", {"C13"}, {}},
               {{"/FilterZeroPointTensor", zero_point}});
  topic.computed(
      {"every-type-signed", "INT8 three times, with zero points at the lower end", {"C14", "C16"}, {"types"}},
      {{"/InputTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 1, 3], "data": [-128, 0, 127]})"},
       {"/InputZeroPointTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [-128]})"},
       {"/FilterTensor/data", "[1]"},
       {"/OutputZeroPointTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [-128]})"}});
  topic.computed(
      {"every-type-unsigned", "UINT8 three times, with zero points at the upper end", {"C14", "C16"}, {"types"}},
      {{"/InputTensor/data", "[255, 254, 0]"},
       {"/InputZeroPointTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 1], "data": [255]})"},
       {"/FilterTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 1], "data": [254]})"},
       {"/FilterZeroPointTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 1], "data": [255]})"},
       {"/OutputTensor/DataType", R"("UINT8")"}});
}

void write_layouts(DescriptionTopic& topic) {
  const char* filter_of_two = R"({"DataType": "INT8", "Sizes": [1, 2, 1, 1], "data": [1, 10]})";
  topic.computed({"input-nhwc", "channels adjacent in memory, as strides say", {"X8"}, {"layout"}},
                 {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 2, 1, 3], "Strides": [6, 1, 6, 2],
                                       "buffer": [1, 2, 3, 4, 5, 6]})"},
                  {"/FilterTensor", filter_of_two}});
  topic.computed(
      {"input-rows-padded", "rows of three elements, five apart; the gap is no data", {"X8", "X10"}, {"layout"}},
      {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 2, 3], "Strides": [10, 10, 5, 1],
                                       "TotalTensorSizeInBytes": 32, "buffer": [1, 2, 3, 250, 251, 4, 5, 6]})"},
       {"/OutputTensor/Sizes", "[1, 1, 2, 3]"}});
  topic.computed({"input-broadcast", "strides of 0: both images are the same", {"X8"}, {"layout", "batch"}},
                 {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [2, 1, 1, 3], "Strides": [0, 3, 3, 1],
                                       "buffer": [1, 2, 3]})"},
                  {"/OutputTensor/Sizes", "[2, 1, 1, 3]"}});
  topic.computed(
      {"input-rows-overlap", "rows one element apart: reading an element twice is well defined", {"X8"}, {"layout"}},
      {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 2, 3], "Strides": [4, 4, 1, 1],
                                       "buffer": [1, 2, 3, 4]})"},
       {"/OutputTensor/Sizes", "[1, 1, 2, 3]"}});
  topic.computed({"filter-transposed", "the filter's columns are adjacent, its rows are not", {"X8"}, {"layout"}},
                 {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 2, 2], "data": [1, 2, 3, 4]})"},
                  {"/FilterTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 2, 2], "Strides": [4, 4, 1, 2],
                                        "buffer": [1, 3, 5, 9]})"},
                  {"/OutputTensor/Sizes", "[1, 1, 1, 1]"}});
  topic.computed(
      {"scales-strided", "filter scales every other element, the bias broadcast", {"X8"}, {"layout", "per-channel"}},
      {{"/FilterTensor", R"({"DataType": "INT8", "Sizes": [2, 1, 1, 1], "data": [10, 10]})"},
       {"/FilterScaleTensor", R"({"DataType": "FLOAT32", "Sizes": [1, 2, 1, 1], "Strides": [4, 2, 1, 1],
                                             "buffer": [1, "nan", 2]})"},
       {"/BiasTensor", R"({"DataType": "INT32", "Sizes": [1, 2, 1, 1], "Strides": [0, 0, 0, 0],
                                      "buffer": [7]})"},
       {"/OutputTensor/Sizes", "[1, 2, 1, 3]"}});
  topic.computed(
      {"output-strided", "rows of the output lie apart, in a buffer larger than it must be", {"X9", "X10"}, {"layout"}},
      {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 2, 3], "data": [1, 2, 3, 4, 5, 6]})"},
       {"/OutputTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 2, 3], "Strides": [32, 32, 16, 2],
                                        "TotalTensorSizeInBytes": 64})"}});
  topic.computed({"output-nhwc", "two output channels adjacent in memory", {"X9"}, {"layout"}},
                 {{"/FilterTensor", R"({"DataType": "INT8", "Sizes": [2, 1, 1, 1], "data": [10, -10]})"},
                  {"/OutputTensor", R"({"DataType": "INT8", "Sizes": [1, 2, 1, 3], "Strides": [6, 1, 6, 2]})"}});
  topic.computed({"flags-and-alignment",
                  "OWNED_BY_DML on inputs and guaranteed alignments change nothing",
                  {"X11", "X12"},
                  {"layout"}},
                 {{"/FilterTensor/Flags", R"("OWNED_BY_DML")"},
                  {"/FilterScaleTensor/Flags", R"("OWNED_BY_DML")"},
                  {"/InputTensor/GuaranteedBaseOffsetAlignment", "1"},
                  {"/InputScaleTensor/GuaranteedBaseOffsetAlignment", "4"},
                  {"/OutputTensor/GuaranteedBaseOffsetAlignment", "256"}});
}

void write_windows(DescriptionTopic& topic) {
  const char* square = R"({"DataType": "UINT8", "Sizes": [1, 1, 2, 2], "data": [11, 12, 13, 14]})";
  const char* square_filter = R"({"DataType": "INT8", "Sizes": [1, 1, 2, 2], "data": [1, 2, 4, 8]})";
  const char* ten = R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 1], "data": [10]})";
  topic.computed({"pads-at-the-start",
                  "a row above and a column to the left: padding is the zero point",
                  {"C1", "X6"},
                  {"padding", "asymmetric"}},
                 {{"/InputTensor", square},
                  {"/InputZeroPointTensor", ten},
                  {"/FilterTensor", square_filter},
                  {"/StartPadding", "[1, 1]"},
                  {"/OutputTensor/Sizes", "[1, 1, 2, 2]"}});
  topic.computed({"pads-at-the-end",
                  "StartPadding 0 with an EndPadding of 1 and 2",
                  {"C1", "X13"},
                  {"padding", "asymmetric", "power-end-padding"}},
                 {{"/InputTensor", square},
                  {"/InputZeroPointTensor", ten},
                  {"/FilterTensor", square_filter},
                  {"/EndPadding", "[1, 2]"},
                  {"/OutputTensor/Sizes", "[1, 1, 2, 3]"}});
  topic.computed({"pads-beyond-the-kernel",
                  "windows wholly in the padding give the output zero point",
                  {"C9"},
                  {"padding", "padding-only", "power-padding-only"}},
                 {{"/InputZeroPointTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 1], "data": [255]})"},
                  {"/FilterTensor/data", "[0]"},
                  {"/FilterZeroPointTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [-1]})"},
                  {"/OutputScaleTensor/data", "[16]"},
                  {"/OutputZeroPointTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [9]})"},
                  {"/StartPadding", "[0, 1]"},
                  {"/EndPadding", "[1, 0]"},
                  {"/OutputTensor/Sizes", "[1, 1, 2, 4]"}});
  topic.computed({"strides-differ", "1 down and 2 across", {"X6"}, {"stride"}},
                 {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 2, 3], "data": [1, 2, 3, 4, 5, 6]})"},
                  {"/Strides", "[1, 2]"},
                  {"/OutputTensor/Sizes", "[1, 1, 2, 2]"}});
  topic.computed({"dilations-differ", "1 down and 2 across", {"X6"}, {"dilation"}},
                 {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 2, 4], "data": [1, 2, 3, 4, 5, 6, 7, 8]})"},
                  {"/FilterTensor", square_filter},
                  {"/Dilations", "[1, 2]"},
                  {"/OutputTensor/Sizes", "[1, 1, 1, 2]"}});
  topic.computed({"pointwise-groups",
                  "1x1 in two groups with distinct scales",
                  {"C8"},
                  {"group", "1x1", "per-channel", "power-groups"}},
                 {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 4, 1, 1], "data": [1, 2, 3, 4]})"},
                  {"/FilterTensor", R"({"DataType": "INT8", "Sizes": [2, 2, 1, 1], "data": [1, 10, 2, 5]})"},
                  {"/FilterScaleTensor", R"({"DataType": "FLOAT32", "Sizes": [1, 2, 1, 1], "data": [1, 2]})"},
                  {"/OutputTensor/Sizes", "[1, 2, 1, 1]"},
                  {"/GroupCount", "2"}});
  topic.computed(
      {"depthwise", "GroupCount is the number of channels, two outputs for each", {"C8"}, {"group", "depthwise"}},
      {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 2, 1, 2], "data": [1, 2, 3, 4]})"},
       {"/FilterTensor", R"({"DataType": "INT8", "Sizes": [4, 1, 1, 2],
                                        "data": [1, 0, 0, 1, 5, 0, 0, 5]})"},
       {"/OutputTensor/Sizes", "[1, 4, 1, 1]"},
       {"/GroupCount", "2"}});
  topic.computed({"batch", "three images", {"X13"}, {"batch", "power-batch"}},
                 {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [3, 1, 1, 2], "data": [1, 2, 3, 4, 5, 6]})"},
                  {"/OutputTensor/Sizes", "[3, 1, 1, 2]"}});
}

void write_arithmetic(DescriptionTopic& topic) {
  const char* odd = R"({"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [11]})";
  topic.open({"ties",
              "0.5, 1.5 and 2.5: round() does not say which neighbour of a tie is right",
              {"C19"},
              {"rounding", "power-tie"}},
             {{"/InputTensor/data", "[1, 3, 5]"}, {"/FilterTensor/data", "[1]"}, {"/OutputScaleTensor/data", "[2]"}});
  topic.open({"negative-ties",
              "-0.5, -1.5 and -2.5 about an odd zero point: either neighbour",
              {"C19"},
              {"rounding", "power-tie"}},
             {{"/InputTensor/data", "[1, 3, 5]"},
              {"/FilterTensor/data", "[-1]"},
              {"/OutputScaleTensor/data", "[2]"},
              {"/OutputZeroPointTensor", odd}});
  topic.computed({"quarters", "0.25, 0.75 and 1.25 about an odd zero point: no tie, one answer", {"C19"}, {"rounding"}},
                 {{"/InputTensor/data", "[1, 3, 5]"},
                  {"/FilterTensor/data", "[1]"},
                  {"/OutputScaleTensor/data", "[4]"},
                  {"/OutputZeroPointTensor", odd}});
  topic.open({"near-ties",
              "scales that are no powers of two: float arithmetic may reach the ties 0.5, 1.5 and 2.5",
              {"C19"},
              {"rounding", "power-near-tie"}},
             {{"/InputTensor/data", "[1, 3, 5]"},
              {"/InputScaleTensor/data", "[1.00000012]"},
              {"/FilterTensor/data", "[1]"},
              {"/OutputScaleTensor/data", "[2]"}});
  topic.open({"cancelling-products",
              "255*127 - 255*127 + 1: a float convolution errs in proportion to its terms",
              {"C19", "C18"},
              {"rounding", "power-extreme-products"}},
             {{"/InputTensor/data", "[255, 255, 1]"},
              {"/InputScaleTensor/data", "[0.5009765625]"},
              {"/FilterTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 1, 3], "data": [127, -127, 1]})"},
              {"/OutputTensor/Sizes", "[1, 1, 1, 1]"}});
  topic.computed({"int16-pairs",
                  "255*127 twice: no intermediate saturates at 16 bits",
                  {"C18"},
                  {"pair-saturation", "power-extreme-products"}},
                 {{"/InputTensor/data", "[255, 255, 0]"},
                  {"/FilterTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 1, 3], "data": [127, 127, 127]})"},
                  {"/OutputScaleTensor/data", "[600]"},
                  {"/OutputTensor/Sizes", "[1, 1, 1, 1]"}});
  topic.computed({"saturates-after-the-zero-point", "v + 100 at 127, 128 and 130", {"C19"}, {"power-saturation-edge"}},
                 {{"/InputTensor/data", "[27, 28, 30]"},
                  {"/FilterTensor/data", "[1]"},
                  {"/OutputZeroPointTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [100]})"}});
  topic.open({"sum-beyond-int32",
              "255*127 + 2^31-1: the exact sum and the wrapped one are both right",
              {"C17"},
              {"wrap", "power-large-bias"}},
             {{"/InputTensor/data", "[255, 0, 1]"},
              {"/FilterTensor/data", "[127]"},
              {"/BiasTensor", R"({"DataType": "INT32", "Sizes": [1, 1, 1, 1], "data": [2147483647]})"},
              {"/OutputScaleTensor/data", "[16777216]"}});
  topic.tolerated({"input-scale-nan", "an error, or any bytes; no crash", {"C21"}, {"odd-scale"}},
                  {{"/InputScaleTensor/data", R"(["nan"])"}});
  topic.tolerated({"filter-scale-infinite", "an error, or any bytes; no crash", {"C21"}, {"odd-scale"}},
                  {{"/FilterScaleTensor/data", R"(["inf"])"}});
  topic.tolerated({"output-scale-zero", "division by zero: an error, or any bytes; no crash", {"C21"}, {"odd-scale"}},
                  {{"/OutputScaleTensor/data", "[0]"}});
  topic.tolerated({"input-scale-zero", "every v is 0: the zero point, or an error", {"C21"}, {"odd-scale"}},
                  {{"/InputScaleTensor/data", "[0]"}});
  topic.tolerated({"output-scale-negative", "the formula holds with its sign, or an error", {"C21"}, {"odd-scale"}},
                  {{"/OutputScaleTensor/data", "[-1]"}});
}

}  // namespace

void write_directml(DescriptionTopics& topics) {
  write_parameters(topics.emplace_back(std::string(kFolder) + "parameters.dml.json"));
  write_layouts(topics.emplace_back(std::string(kFolder) + "layouts.dml.json"));
  write_windows(topics.emplace_back(std::string(kFolder) + "windows.dml.json"));
  write_arithmetic(topics.emplace_back(std::string(kFolder) + "arithmetic.dml.json"));
}

}  // namespace qconform::author
