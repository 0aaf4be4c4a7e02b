// Combiner: a loop that combines elements with elements, in memory that no other thread changes meanwhile.
//
//   const Combiner add = combiner({Accumulate::sum, Element::f64});
//   add(target, operands, target, 512);      // target[i] += operands[i]
//
// All are packed and need not be aligned. The result may be in the place of one of the two; otherwise they do not
// overlap. There is one for each operation that is valid for the type, except no_op, which does nothing. The loops use
// the instructions of the processor on which they run.
// Threads: any.
#pragma once

#include <cstddef>

#include "elements/accumulate.hpp"

namespace lfc {

using Combiner = void (*)(const std::byte* a, const std::byte* b, std::byte* out,
                          std::size_t count);

Combiner combiner(Accumulation what) noexcept;
// Null: not an operation that MPI allows on plain numbers of up to eight bytes. `what` may have any value.
Combiner number_combiner(Accumulation what) noexcept;

// A combiner for pairs with gaps between them or in them, on either side; the gaps are not touched.
using PairCombiner = void (*)(std::byte* target, Spacing there, const std::byte* operands,
                              Spacing here, std::size_t count);
// Null: the elements are no pairs, or there is nothing to do.
PairCombiner pair_combiner(Accumulation what) noexcept;

}  // namespace lfc
