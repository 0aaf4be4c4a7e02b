// Proofs: two processes that connect show each other that both have the key of the one that listens, and send it
// nowhere.
//
//   hello:      HelloHead{nonce, hello_proof(...)}, then the sender's address  // who knows the key says who he is
//   hello_ack:  ack_proof(...) of the same nonce                             // to this target: the answer is its own
//
// A nonce is drawn anew for each hello and believed once, so neither can be used again, here or elsewhere.
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

// Under the key of `target`, which listens by a link of that name; `from` is the sender's address, and whatever of the
// hello comes before it.
Key hello_proof(const Identity& target, std::string_view link, const Key& nonce,
                std::span<const std::byte> from);
Key ack_proof(const Identity& target, std::string_view link, const Key& nonce);

}  // namespace lfc
