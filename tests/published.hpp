// A link's address in the form that its process publishes.
//
//   const std::vector<std::byte> blob = publish(*link, identity);       // the link knows its identity from now on
//   peer.link->connect(id, *Address::parse(blob), why);
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "link/link.hpp"

namespace lfc {

inline std::vector<std::byte> publish(Link& link, const Identity& identity) {
  AddressWriter writer(identity);
  link.publish(writer);
  std::vector<std::byte> blob = std::move(writer).finish();
  link.set_own_address(without_key(blob));
  return blob;
}

}  // namespace lfc
