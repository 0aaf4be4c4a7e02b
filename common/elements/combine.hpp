// Combiner: the loop that combines elements with elements, for memory that nobody else changes meanwhile.
//
//   const Combiner add = combiner({Accumulate::sum, Element::f64});
//   add(target, operands, target, 512);      // target[i] += operands[i]
//
// All are packed and need not be aligned; the result may be where one of the two is, else they do not overlap. There is
// one for each operation that is valid for the type, but for no_op, which has nothing to do. The loops are made for the
// instructions of the processor that they run on.
// Threads: any.
#pragma once

#include <cstddef>

#include "elements/accumulate.hpp"

namespace lfc {

using Combiner = void (*)(const std::byte* a, const std::byte* b, std::byte* out,
                          std::size_t count);

Combiner combiner(Accumulation what) noexcept;
// Null: other than an operation that MPI allows on plain numbers of up to eight bytes, whatever `what` may hold.
Combiner number_combiner(Accumulation what) noexcept;

// The same for pairs with gaps between them or in them, on either side; the gaps are not touched.
using PairCombiner = void (*)(std::byte* target, Spacing there, const std::byte* operands,
                              Spacing here, std::size_t count);
// Null: no pairs, or nothing to do.
PairCombiner pair_combiner(Accumulation what) noexcept;

}  // namespace lfc
