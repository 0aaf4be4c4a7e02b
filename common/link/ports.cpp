#include "link/ports.hpp"

#include <charconv>

namespace lfc {
namespace {

bool parse_port(std::string_view text, std::uint16_t& port) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port != 0;
}

}  // namespace

bool parse_ports(std::string_view text, PortRange& ports, std::string& problem) {
  ports = {};
  if (text.empty()) return true;
  const std::size_t dash = text.find('-');
  const std::string_view last = dash == std::string_view::npos ? text : text.substr(dash + 1);
  if (parse_port(text.substr(0, dash), ports.first) && parse_port(last, ports.last) &&
      ports.first <= ports.last)
    return true;
  ports = {};
  problem =
      "'" + std::string(text) + "' (accepted: a range of ports such as 5000-5100, from 1 to 65535)";
  return false;
}

}  // namespace lfc
