// Axes, blocks, and refusals of parameters and inputs, for both operators.
#include "corpus/author/linear_vector.h"

namespace qconform::author {
namespace {

using enum ElementType;

// One operator's way to say the same vector. x counts from 8 on in steps of 8; the scales are powers of
// two, so that a parameter of another position shows in every element.
struct Side {
  bool quantizes;

  [[nodiscard]] LinearBuilder start(std::int64_t version, const std::string& id, std::string note,
                                    std::vector<std::string> rules, std::vector<std::string> tags) const {
    const auto make = quantizes ? quantize_vector : dequantize_vector;
    return make(version, id, std::move(note), std::move(rules), std::move(tags));
  }
  [[nodiscard]] ElementType type() const { return quantizes ? float32 : uint8; }
  [[nodiscard]] std::string folder() const { return quantizes ? "quantize_linear/" : "dequantize_linear/"; }
  [[nodiscard]] Tensor x(const make::Shape& shape) const {
    std::vector<double> values;
    for (std::int64_t i = 0; i < elements_of(shape); ++i) values.push_back(static_cast<double>(8 * (i % 16 + 1)));
    return numbers(type(), shape, values);
  }
};

// Scales 1, 2, 4, 8, 1, ... and zero points 0, 5, 10, ... of a shape.
Tensor scales(const make::Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < elements_of(shape); ++i) values.push_back(static_cast<double>(1 << (i % 4)));
  return numbers(float32, shape, values);
}

Tensor zero_points(const make::Shape& shape, ElementType type = uint8) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < elements_of(shape); ++i) values.push_back(static_cast<double>(5 * (i % 8)));
  return numbers(type, shape, values);
}

LinearBuilder with_parameters(LinearBuilder vector, const make::Shape& shape) {
  return vector.input(1, scales(shape)).zero_point(zero_points(shape));
}

void write_axes_at(Topic& topic, std::int64_t version, const Side& side) {
  const auto start = [&](const char* id, const char* note) {
    return side.start(version, id, note, {"D7"}, {"per-axis"});
  };
  const make::Shape cube{2, 3, 4};
  topic.computed(with_parameters(start("rank-3-default-axis", "axis 1 of three: the middle one").x(side.x(cube)), {3}));
  topic.computed(with_parameters(start("rank-3-axis-0", "the outermost axis").x(side.x(cube)), {2}).axis(0));
  topic.computed(with_parameters(start("rank-3-axis-2", "the innermost axis").x(side.x(cube)), {4}).axis(2));
  topic.computed(with_parameters(start("rank-3-axis-minus-1", "the innermost axis").x(side.x(cube)), {4}).axis(-1));
  topic.computed(with_parameters(start("rank-3-axis-minus-3", "the outermost axis").x(side.x(cube)), {2}).axis(-3));
  topic.computed(with_parameters(
      start("equal-lengths", "three axes of one length: only the axis tells them apart").x(side.x({2, 2, 2})), {2}));
  topic.computed(
      with_parameters(start("rank-5", "two axes of one position around it").x(side.x({1, 3, 2, 1, 2})), {3}));
  topic.computed(
      with_parameters(start("no-elements", "an empty axis beside one that has parameters").x(side.x({0, 3})), {3}));
  topic.computed(with_parameters(start("axis-of-length-0", "no positions, no parameters").x(side.x({2, 0})), {0}));
  topic.computed(with_parameters(start("axis-of-length-1", "[1] is a list here").x(side.x({2, 1, 3})), {1}));
  topic.computed(
      start("scales-without-zero-points", "several scales, and no zero point").x(side.x(cube)).input(1, scales({3})));
  topic.computed(with_parameters(start("rank-1-axis-0", "one scale for each element").x(side.x({4})), {4}).axis(0));
  topic.tolerated(with_parameters(
      start("rank-1-one-scale", "rank 1 has no axis 1, but one value is one value").x(side.x({4})), {1}));
  topic.tolerated(
      with_parameters(start("unused-axis", "a scalar scale uses no axis: a value, or an error").x(side.x(cube)), {})
          .axis(5));
  topic.tolerated(
      with_parameters(start("one-scale-for-three", "shape [1] where a scalar is meant").x(side.x(cube)), {1}));
  const auto refusal = [&](const char* id, const char* note) {
    return side.start(version, id, note, {"D7"}, {"per-axis", "refusal"}).x(side.x(cube));
  };
  topic.refused(with_parameters(refusal("axis-beyond", "axis 3 of three"), {3}).axis(3));
  topic.refused(with_parameters(refusal("axis-below", "axis -4 of three"), {3}).axis(-4));
  topic.refused(with_parameters(refusal("wrong-length", "4 scales for 3 positions"), {4}));
  topic.refused(refusal("zero-points-of-other-length", "three scales, two zero points")
                    .input(1, scales({3}))
                    .zero_point(zero_points({2})));
  topic.refused(
      refusal("scalar-zero-point", "three scales, one zero point").input(1, scales({3})).zero_point(zero_points({})));
  topic.refused(
      refusal("scalar-scale", "one scale, three zero points").input(1, scales({})).zero_point(zero_points({3})));
  topic.refused(with_parameters(refusal("scales-of-rank-2", "[1, 3] is neither scalar nor list"), {1, 3}));
  topic.refused(with_parameters(
      refusal("rank-1-default-axis", "rank 1 has no axis 1: four scales fit nothing").x(side.x({4})), {4}));
  topic.refused(with_parameters(refusal("scalar-x", "a list of scales for x of rank 0").x(side.x({})), {2}));
}

void write_blocks_at(Topic& topic, std::int64_t version, const Side& side) {
  const auto start = [&](const char* id, const char* note, std::int64_t size) {
    return side.start(version, id, note, {"D7"}, {"blocks"}).attribute("block_size", size);
  };
  const auto valid = [&](const char* id, const char* note, std::int64_t size, std::int64_t axis,
                         const make::Shape& shape, const make::Shape& blocks) {
    topic.computed(with_parameters(start(id, note, size).x(side.x(shape)), blocks).axis(axis));
  };
  valid("whole-blocks", "two blocks of 3 in each row", 3, 1, {2, 6}, {2, 2});
  valid("partial-last-block", "7 = 3 + 3 + 1", 3, 1, {2, 7}, {2, 3});
  valid("along-axis-0", "blocks of rows; the last one is shorter", 2, 0, {5, 2}, {3, 2});
  valid("inner-axis", "blocks along the innermost of three axes", 2, 2, {2, 2, 3}, {2, 2, 2});
  valid("middle-axis", "blocks along the middle axis: elements of one block are not neighbours", 2, 1, {2, 3, 2},
        {2, 2, 2});
  valid("negative-axis", "axis -2 of three", 2, -2, {2, 3, 2}, {2, 2, 2});
  valid("block-of-1", "a scale for each element", 1, 1, {2, 3}, {2, 3});
  valid("block-beyond-the-axis", "one block, larger than the axis", 8, 1, {2, 3}, {2, 1});
  valid("rank-1", "blocks of a list", 4, 0, {6}, {2});
  valid("no-elements", "an axis without elements has no blocks", 2, 1, {2, 0}, {2, 0});
  topic.computed(start("without-zero-points", "scales alone", 2).x(side.x({2, 3})).input(1, scales({2, 2})));
  topic.tolerated(with_parameters(
      start("scalar-scale", "one scale beside a block_size: its value, or an error", 2).x(side.x({2, 4})), {}));
  topic.tolerated(with_parameters(start("scale-of-shape-1", "the same of shape [1]", 2).x(side.x({2, 4})), {1}));
  const auto refused = [&](const char* id, const char* note, std::int64_t size, const make::Shape& blocks) {
    topic.refused(with_parameters(start(id, note, size).tags({"blocks", "refusal"}).x(side.x({2, 6})), blocks));
  };
  refused("negative-block-size", "block_size -2", -2, {2, 3});
  refused("no-block-size", "scales of rank 2 without a block_size", 0, {2, 3});
  refused("too-few-blocks", "6 elements in blocks of 4 need two scales", 4, {2, 1});
  refused("too-many-blocks", "6 elements in blocks of 4 have two scales", 4, {2, 3});
  refused("another-axis", "blocks along axis 0, where axis 1 is meant", 2, {1, 6});
  refused("list-of-scales", "a list is no scale of blocks", 2, {6});
  refused("two-blocked-axes", "only one axis has blocks", 2, {1, 3});
  topic.refused(start("zero-points-of-other-shape", "as many zero points as scales", 2)
                    .tags({"blocks", "refusal"})
                    .x(side.x({2, 6}))
                    .input(1, scales({2, 3}))
                    .zero_point(zero_points({2, 2})));
  topic.refused(
      with_parameters(start("axis-beyond", "axis 2 of two", 2).tags({"blocks", "refusal"}).x(side.x({2, 6})), {2, 3})
          .axis(2));
}

void write_refusals_at(Topic& topic, std::int64_t version, const Side& side) {
  const auto start = [&](const char* id, const char* note, const char* rule) {
    return with_parameters(side.start(version, id, note, {rule}, {"refusal"}).x(side.x({3})), {});
  };
  topic.refused(start("without-x", "x is required", "C15").input(0, std::nullopt));
  topic.refused(start("without-scale", "the scale is required", "C15").input(1, std::nullopt));
  topic.refused(start("without-inputs", "nothing at all", "C15")
                    .input(0, std::nullopt)
                    .input(1, std::nullopt)
                    .input(2, std::nullopt));
  topic.refused(start("four-inputs", "there are three at most", "signature").input(3, make::float32(1.0F)));
  topic.refused(
      start("scale-double", "no version has scales of double", "signature").input(1, numbers(float64, {}, {1})));
  topic.refused(start("x-double", "nor x of double", "signature").input(0, numbers(float64, {1}, {1})));
  topic.refused(start("unknown-attribute", "no version has an attribute scale", "signature").attribute("scale", 1.0F));
  topic.refused(
      start("axis-of-strings", "an attribute of the wrong kind", "signature").attribute("axis", std::string("1")));
  topic.refused(
      start("zero-point-of-shape-2", "a scalar scale beside two zero points", "D7").zero_point(zero_points({2})));
  topic.refused(start("zero-point-of-shape-1-1", "a scalar scale beside a zero point of rank 2", "D7")
                    .zero_point(zero_points({1, 1})));
  if (version < 13) topic.refused(start("axis-too-early", "axis comes with version 13", "signature").axis(0));
  if (version < 21) {
    topic.refused(start("block-size-too-early", "block_size comes with version 21", "signature")
                      .attribute("block_size", std::int64_t{0}));
  }
  if (version < 19 || !side.quantizes) {
    topic.refused(start("saturate-where-there-is-none", "saturate is QuantizeLinear's, from version 19 on", "signature")
                      .attribute("saturate", std::int64_t{1}));
  }
  if (version < 23 || !side.quantizes) {
    topic.refused(
        start("precision-where-there-is-none", "precision is QuantizeLinear's, from version 23 on", "signature")
            .attribute("precision", type_number(float32)));
  }
}

// A type of the scale that the version does not take.
void write_scale_types_at(Topic& topic, std::int64_t version, const Side& side) {
  const auto refused = [&](const char* id, const char* note, ElementType type) {
    topic.refused(side.start(version, id, note, {"signature"}, {"refusal", "types"})
                      .x(side.x({3}))
                      .input(1, numbers(type, {}, {1})));
  };
  const bool needs_x_type = side.quantizes && version < 23;
  if (version < 19 || needs_x_type) {
    refused("float16-scale",
            side.quantizes ? "before version 23 the scale has the type of x" : "before version 19 scales are float",
            float16);
  }
  refused("float8-scale", "float8e4m3fn is no type of scales", float8e4m3fn);
  if (version < 24) refused("power-of-two-scale", "float8e8m0 scales come with version 24", float8e8m0);
  if (!side.quantizes) refused("int32-scale", "nor is int32", int32);
}

}  // namespace

void write_linear_layout(Topics& topics) {
  for (const Side side : {Side{true}, Side{false}}) {
    Topic& axes = topics.emplace_back(side.folder() + "axis.json");
    for (const std::int64_t version : linear_versions(13)) write_axes_at(axes, version, side);
    Topic& blocks = topics.emplace_back(side.folder() + "blocks.json");
    for (const std::int64_t version : linear_versions(21)) write_blocks_at(blocks, version, side);
    Topic& refusals = topics.emplace_back(side.folder() + "refusals.json");
    for (const std::int64_t version : linear_versions()) {
      write_refusals_at(refusals, version, side);
      write_scale_types_at(refusals, version, side);
    }
    const auto old = [&](const char* id, const char* note) { return side.start(10, id, note, {"D7"}, {"refusal"}); };
    Topic& per_tensor = refusals;
    per_tensor.refused(
        with_parameters(old("scale-per-axis", "version 10 knows scalar parameters only").x(side.x({2, 3})), {3}));
    per_tensor.refused(with_parameters(old("blocks", "and no blocks").x(side.x({2, 4})), {2, 2}));
  }
}

}  // namespace qconform::author
