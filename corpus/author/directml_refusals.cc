// Malformed DirectML descriptions: each must be refused under the rule that it names.
#include "corpus/author/description_topic.h"
#include "corpus/author/topics.h"

namespace qconform::author {
namespace {

class Refusals {
 public:
  explicit Refusals(DescriptionTopic& topic) : topic_(topic) {}
  void operator()(const char* id, const char* note, const char* rule, const char* pointer, const char* value) {
    topic_.refused({id, note, {rule}, {"refusal"}}, {{pointer, value}});
  }
  void operator()(const char* id, const char* note, const char* rule, const DescriptionTopic::Edits& edits) {
    topic_.refused({id, note, {rule}, {"refusal"}}, edits);
  }

 private:
  DescriptionTopic& topic_;
};

void write_tensors(Refusals& refused) {
  refused("input-null", "InputTensor is required", "X1", "/InputTensor", "null");
  refused("input-scale-null", "InputScaleTensor is required", "X1", "/InputScaleTensor", "null");
  refused("filter-null", "FilterTensor is required", "X1", "/FilterTensor", "null");
  refused("filter-scale-null", "FilterScaleTensor is required", "X1", "/FilterScaleTensor", "null");
  refused("output-scale-null", "OutputScaleTensor is required", "X1", "/OutputScaleTensor", "null");
  refused("output-null", "OutputTensor is required", "X1", "/OutputTensor", "null");
  refused("input-of-three-dimensions", "every tensor has four dimensions", "X2", "/InputTensor/Sizes", "[1, 1, 3]");
  refused("filter-of-five-dimensions", "every tensor has four dimensions", "X2", "/FilterTensor/Sizes",
          "[1, 1, 1, 1, 1]");
  refused("scale-of-one-dimension", "a scale is {1, 1, 1, 1}, not {1}", "X2", "/OutputScaleTensor/Sizes", "[1]");
  refused("input-int32", "input, filter and output are INT8 or UINT8", "X3", "/InputTensor/DataType", R"("INT32")");
  refused("filter-int4", "input, filter and output are INT8 or UINT8", "X3", "/FilterTensor/DataType", R"("INT4")");
  refused("output-float", "input, filter and output are INT8 or UINT8", "X3", "/OutputTensor/DataType", R"("FLOAT32")");
  refused("scale-float16", "scales are FLOAT32", "X3", "/FilterScaleTensor/DataType", R"("FLOAT16")");
  refused("zero-point-int32", "zero points are INT8 or UINT8", "X3", "/InputZeroPointTensor",
          R"({"DataType": "INT32", "Sizes": [1, 1, 1, 1], "data": [0]})");
  refused("bias-float", "the bias is INT32", "X3", "/BiasTensor",
          R"({"DataType": "FLOAT32", "Sizes": [1, 1, 1, 1], "data": [0]})");
  refused("type-unknown", "no such data type", "X3", "/InputTensor/DataType", R"("BYTE")");
  refused("size-zero", "DirectML has no empty tensors", "X7", "/InputTensor/Sizes", "[1, 1, 0, 3]");
  refused("size-negative", "sizes are UINT", "X7", "/FilterTensor/Sizes/0", "-1");
  refused("input-zero-point-of-another-type", "INT8 beside a UINT8 input", "C16", "/InputZeroPointTensor",
          R"({"DataType": "INT8", "Sizes": [1, 1, 1, 1], "data": [0]})");
  refused("filter-zero-point-of-another-type", "UINT8 beside an INT8 filter", "C16", "/FilterZeroPointTensor",
          R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 1], "data": [0]})");
  refused("output-zero-point-of-another-type", "UINT8 beside an INT8 output", "C16", "/OutputZeroPointTensor",
          R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 1], "data": [0]})");
}

void write_parameter_shapes(Refusals& refused) {
  refused("input-scale-per-channel", "input parameters are {1, 1, 1, 1}", "X4",
          {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 2, 1, 1], "data": [1, 2]})"},
           {"/FilterTensor", R"({"DataType": "INT8", "Sizes": [1, 2, 1, 1], "data": [1, 2]})"},
           {"/InputScaleTensor", R"({"DataType": "FLOAT32", "Sizes": [1, 2, 1, 1], "data": [1, 2]})"},
           {"/OutputTensor/Sizes", "[1, 1, 1, 1]"}});
  refused("output-scale-per-channel", "output parameters are {1, 1, 1, 1}, for two output channels too", "X4",
          {{"/FilterTensor", R"({"DataType": "INT8", "Sizes": [2, 1, 1, 1], "data": [1, 2]})"},
           {"/OutputScaleTensor", R"({"DataType": "FLOAT32", "Sizes": [1, 2, 1, 1], "data": [1, 2]})"},
           {"/OutputTensor/Sizes", "[1, 2, 1, 3]"}});
  refused("input-zero-point-per-element", "input parameters are {1, 1, 1, 1}", "X4", "/InputZeroPointTensor",
          R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 3], "data": [1, 2, 3]})");
  refused("output-zero-point-of-two", "output parameters are {1, 1, 1, 1}", "X4", "/OutputZeroPointTensor",
          R"({"DataType": "INT8", "Sizes": [1, 2, 1, 1], "data": [1, 2]})");
  refused("filter-scale-in-the-first-dimension", "per channel is {1, M, 1, 1}, not {M, 1, 1, 1}", "X4",
          {{"/FilterTensor", R"({"DataType": "INT8", "Sizes": [2, 1, 1, 1], "data": [1, 2]})"},
           {"/FilterScaleTensor", R"({"DataType": "FLOAT32", "Sizes": [2, 1, 1, 1], "data": [1, 2]})"},
           {"/OutputTensor/Sizes", "[1, 2, 1, 3]"}});
  refused("filter-zero-point-of-three", "three values for one output channel", "X4", "/FilterZeroPointTensor",
          R"({"DataType": "INT8", "Sizes": [1, 3, 1, 1], "data": [1, 2, 3]})");
  refused("bias-of-one-for-two-channels", "the bias is {1, M, 1, 1}", "X4",
          {{"/FilterTensor", R"({"DataType": "INT8", "Sizes": [2, 1, 1, 1], "data": [1, 2]})"},
           {"/BiasTensor", R"({"DataType": "INT32", "Sizes": [1, 1, 1, 1], "data": [5]})"},
           {"/OutputTensor/Sizes", "[1, 2, 1, 3]"}});
}

void write_operator(Refusals& refused) {
  refused("three-spatial-dimensions", "DimensionCount is 2", "X5",
          {{"/DimensionCount", "3"},
           {"/Strides", "[1, 1, 1]"},
           {"/Dilations", "[1, 1, 1]"},
           {"/StartPadding", "[0, 0, 0]"},
           {"/EndPadding", "[0, 0, 0]"}});
  refused("strides-of-one", "two values each", "X6", "/Strides", "[1]");
  refused("dilations-of-three", "two values each", "X6", "/Dilations", "[1, 1, 1]");
  refused("start-padding-of-four", "ONNX's pads are two arrays here", "X6", "/StartPadding", "[0, 0, 0, 0]");
  refused("end-padding-empty", "two values each", "X6", "/EndPadding", "[]");
  refused("end-padding-negative", "UINT values", "X6", "/EndPadding/0", "-1");
  refused("output-sizes-without-padding", "padding makes the output a column wider", "X13", "/EndPadding", "[0, 1]");
  refused("output-of-two-images", "the output has the input's images", "X13", "/OutputTensor/Sizes", "[2, 1, 1, 3]");
  refused("output-of-two-channels", "the output has the filter's channels", "X13", "/OutputTensor/Sizes",
          "[1, 2, 1, 3]");
  refused("stride-zero", "a stride of 0 never leaves the first window", "C8", "/Strides", "[1, 0]");
  refused("dilation-zero", "a dilation of 0 reads one element again", "C8", "/Dilations", "[0, 1]");
  refused("group-zero", "GroupCount 0 divides nothing", "C8", "/GroupCount", "0");
  refused("group-of-two-for-one-channel", "the input has GroupCount times the filter's channels", "C8", "/GroupCount",
          "2");
  refused(
      "window-too-large", "two taps at distance 3 span 4 of 3 elements", "C6",
      {{"/FilterTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 1, 2], "data": [1, 2]})"}, {"/Dilations", "[1, 3]"}});
  refused("padding-beyond-the-limit", "2^32 - 1 elements of padding", "limit", "/StartPadding/0", "4294967295");
}

void write_layout(Refusals& refused) {
  refused("input-strides-of-three", "one stride for each dimension", "X8", "/InputTensor/Strides", "[3, 3, 1]");
  refused("input-stride-beyond-uint", "strides are UINT", "X8", "/InputTensor/Strides", "[3, 3, 3, 4294967296]");
  refused("output-broadcast", "three output elements at one place", "X9", "/OutputTensor/Strides", "[3, 3, 3, 0]");
  refused("output-rows-overlap", "the second row begins within the first", "X9",
          {{"/InputTensor", R"({"DataType": "UINT8", "Sizes": [1, 1, 2, 3], "data": [1, 2, 3, 4, 5, 6]})"},
           {"/OutputTensor", R"({"DataType": "INT8", "Sizes": [1, 1, 2, 3], "Strides": [6, 6, 2, 1]})"}});
  refused("total-size-too-small", "12 bytes of output in 8", "X10",
          {{"/FilterTensor", R"({"DataType": "INT8", "Sizes": [4, 1, 1, 1], "fill": 1})"},
           {"/OutputTensor", R"({"DataType": "INT8", "Sizes": [1, 4, 1, 3], "TotalTensorSizeInBytes": 8})"}});
  refused("total-size-not-a-multiple-of-4", "three elements take 4 bytes, not 3", "X10",
          "/InputTensor/TotalTensorSizeInBytes", "3");
  refused("span-beyond-2-32", "two rows 2^32 - 1 elements apart", "X10", "/InputTensor",
          R"({"DataType": "UINT8", "Sizes": [1, 1, 2, 3], "Strides": [0, 0, 4294967295, 1], "fill": 1})");
  refused("output-owned-by-dml", "OWNED_BY_DML is for inputs", "X11", "/OutputTensor/Flags", R"("OWNED_BY_DML")");
  refused("flag-unknown", "no such flag", "X11", "/FilterTensor/Flags", R"("READ_ONLY")");
  refused("alignment-of-three", "alignments are powers of two", "X12", "/InputTensor/GuaranteedBaseOffsetAlignment",
          "3");
  refused("alignment-below-the-element", "an alignment of 2 for elements of 4 bytes", "X12",
          "/InputScaleTensor/GuaranteedBaseOffsetAlignment", "2");
  refused("data-too-few", "three elements, two values", "X14", "/InputTensor/data", "[1, 2]");
  refused("data-out-of-range", "256 is no UINT8", "X14", "/InputTensor/data", "[1, 256, 3]");
  refused("data-missing", "an input without contents", "X14", "/InputTensor",
          R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 3]})");
  refused("data-and-fill", "contents stated twice", "X14", "/InputTensor/fill", "1");
  refused("buffer-too-short", "strides reach the fifth element of four", "X14", "/InputTensor",
          R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 3], "Strides": [5, 5, 5, 2], "buffer": [1, 0, 2, 0]})");
  refused("shared-elements-differ", "one place in memory, three values", "X14", "/InputTensor",
          R"({"DataType": "UINT8", "Sizes": [1, 1, 1, 3], "Strides": [1, 1, 1, 0], "data": [1, 2, 3]})");
}

}  // namespace

void write_directml_refusals(DescriptionTopics& topics) {
  Refusals refused(topics.emplace_back("dml_quantized_linear_convolution/refusals.dml.json"));
  write_tensors(refused);
  write_parameter_shapes(refused);
  write_operator(refused);
  write_layout(refused);
}

}  // namespace qconform::author
