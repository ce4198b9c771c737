// The topics of the corpus: one function for each source file of this folder.
#pragma once

#include <vector>

#include "corpus/author/topic.h"

namespace qconform::author {

class DescriptionTopic;

using Topics = std::vector<Topic>;
using DescriptionTopics = std::vector<DescriptionTopic>;

// Both convolutions, from one description.
void write_padding(Topics& topics);
void write_auto_pad(Topics& topics);
void write_windows(Topics& topics);
void write_zero_points(Topics& topics);
void write_empty(Topics& topics);
void write_tails(Topics& topics);
void write_accumulation(Topics& topics);
void write_geometry_refusals(Topics& topics);
void write_input_refusals(Topics& topics);

// QLinearConv alone.
void write_rounding(Topics& topics);
void write_near_ties(Topics& topics);
void write_bias(Topics& topics);
void write_scales(Topics& topics);

// DirectML's descriptions of QLinearConv.
void write_directml(DescriptionTopics& topics);
void write_directml_refusals(DescriptionTopics& topics);

void write_quantize_linear(Topics& topics);
void write_quantize_precision(Topics& topics);
void write_quantize_types(Topics& topics);
void write_dequantize_linear(Topics& topics);
void write_dequantize_types(Topics& topics);
// QuantizeLinear and DequantizeLinear, from one description.
void write_linear_layout(Topics& topics);

}  // namespace qconform::author
