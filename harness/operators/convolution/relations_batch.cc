#include "harness/operators/convolution/relation_parts.h"
#include "harness/operators/convolution/relations.h"

namespace qconform::relations {
namespace {

constexpr NotApplicable kNoImages{"no convolution"};
constexpr NotApplicable kOneImage{"one image"};

Applied split_batch(const Subject& subject) {
  const Convolution& base = *convolution_of(subject);
  const std::int64_t images = base.geometry.batch;
  if (images < 2) return kOneImage;
  std::vector<Case> derived;
  for (std::int64_t image = 0; image < images; ++image) {
    Convolution part = base;
    select_images(part, {image});
    derived.push_back(part.build("/image-" + std::to_string(image)));
  }
  const Values shape = base.geometry.output_shape();
  return Derivation([derived = std::move(derived), shape](const Tensor&) {
    return Application{derived,
                       links_for(shape, shape,
                                 [](Values index) {
                                   const auto image = static_cast<std::size_t>(index[0]);
                                   index[0] = 0;
                                   return std::pair(image, index);
                                 }),
                       nullptr};
  });
}

Applied reverse_images(const Subject& subject) {
  Convolution derived = *convolution_of(subject);
  const std::int64_t images = derived.geometry.batch;
  if (images < 2) return kOneImage;
  select_images(derived, counting_down(images));
  const Values shape = derived.geometry.output_shape();
  return Derivation([reversed = derived.build("/images-reversed"), shape, images](const Tensor&) {
    return Application{{reversed},
                       links_for(shape, shape,
                                 [&](Values index) {
                                   index[0] = images - 1 - index[0];
                                   return std::pair(std::size_t{0}, index);
                                 }),
                       nullptr};
  });
}

constexpr FamilyRelation kBatchRelations[] = {
    {{Topic::batch, "batch-split", "Each image of a batch gives what it gives by itself.",
      "No image depends on another."},
     "QLinearConv, ConvInteger",
     split_batch},
    {{Topic::batch, "images-reversed", "Images in reverse order give y's images in reverse order.",
      "No image depends on another."},
     "QLinearConv, ConvInteger",
     reverse_images},
};

}  // namespace

std::span<const FamilyRelation> batch_relations() {
  return kBatchRelations;
}

}  // namespace qconform::relations
