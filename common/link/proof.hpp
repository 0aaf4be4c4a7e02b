// Proofs: mutual authentication of two processes that connect: each proves that it has the key of the process that
// listens, without sending the key.
//
//   hello:      HelloHead{nonce, hello_proof(...)}, then the sender's address   // the sender has the target's key
//   hello_ack:  ack_proof(...) of the same nonce                                // the target has its own key
//
// Each hello has a new random nonce, which a target accepts once. So neither message can be used again, here or
// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/address.hpp"
#include "wire/key.hpp"

namespace lfc {

struct HelloHead {
  Key nonce;
  Key proof;
};
static_assert(sizeof(HelloHead) == 32);

// Proof under the key of `target`, which listens by a link of that name; `from` is the sender's address, and all bytes
// of the hello before it.
Key hello_proof(const Identity& target, std::string_view link, const Key& nonce,
                std::span<const std::byte> from);
Key ack_proof(const Identity& target, std::string_view link, const Key& nonce);

}  // namespace lfc
