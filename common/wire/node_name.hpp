// node_name: the name of a process's node, from its address.
//
//   const std::string node = node_name(peer.address);   // empty: no link has published it
//
// Links that connect to other nodes publish it for messages to the user, as the section kNodeNameSection.
#pragma once

#include <string>
#include <string_view>

#include "wire/address.hpp"

namespace lfc {

inline constexpr std::string_view kNodeNameSection = "host";

inline std::string node_name(const Address& address) {
  const auto name = address.section(kNodeNameSection);
  return {reinterpret_cast<const char*>(name.data()), name.size()};
}

}  // namespace lfc
