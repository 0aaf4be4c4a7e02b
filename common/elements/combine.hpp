// Combiner: the loop that combines elements with elements, for memory that nobody else changes meanwhile.
//
//   const Combiner add = combiner({Accumulate::sum, Element::f64});
//   add(target, operands, 512);              // target[i] += operands[i]
//
// Both sides are packed, need not be aligned, and do not overlap. There is one for each operation that is valid for the
// type, but for no_op, which has nothing to do. The loops are made for the instructions of the processor that they run on.
// Threads: any.
#pragma once

#include <cstddef>

#include "elements/accumulate.hpp"

namespace lfc {

using Combiner = void (*)(std::byte* target, const std::byte* operands, std::size_t count);

Combiner combiner(Accumulation what) noexcept;

// The same for pairs with gaps between them or in them, on either side; the gaps are not touched.
using PairCombiner = void (*)(std::byte* target, Spacing there, const std::byte* operands,
                              Spacing here, std::size_t count);
// Null: no pairs, or nothing to do.
PairCombiner pair_combiner(Accumulation what) noexcept;

}  // namespace lfc
