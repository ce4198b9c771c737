// Graphs as no suite draws them: what a case of several nodes may be when a file or a user made it.
#pragma once

#include "harness/core/case.h"
#include "harness/model/draws/rng.h"

namespace qconform::fuzz {

/// Changes one to four things of a graph: types, shapes, empty dimensions, values, edges, attributes, operators and
/// their versions, outputs, the order of nodes. About half of the results still fit together (check_wiring()), and some
/// of these are within the contract. Every tensor has a known type, and as many bytes as type and shape ask for; every
/// tensor has a name.
void damage_graph(Case& graph, Rng& rng);

}  // namespace qconform::fuzz
