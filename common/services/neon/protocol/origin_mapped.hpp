// Accesses of an origin to announced buffers in windows that are mapped here (mapped_entries.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/neon/protocol/carrier.hpp"
#include "services/neon/protocol/origin.hpp"

namespace lfc::neon {

// False: the bytes are outside the buffer that the stream's generation is announced for, as far as the origin knows it.
bool may_fit(Stream& to, std::uint64_t offset, std::uint64_t size, Carrier& carrier);
// Returns the place of bytes in the buffer that the stream's generation is announced for, after which the caller
// releases the stream's entry. Null: the access goes by frames. `end`: as Operation::whole_end.
std::byte* claim_mapped(Stream& to, std::uint64_t offset, std::uint64_t size, std::uint64_t end,
                        Carrier& carrier, Statistics& statistics);
// Accesses the buffer for the operation, or begins a direct write. False: nothing was done, and it goes by frames.
bool access_mapped(Stream& to, Operation& op, Carrier& carrier, Statistics& statistics);

}  // namespace lfc::neon
