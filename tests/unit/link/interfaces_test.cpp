#include "link/interfaces.hpp"

#include <algorithm>

#include "catch.hpp"

using lfc::Interface;
using lfc::IpAddress;

namespace {

IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }

Interface make(const char* name, const char* address, unsigned prefix, bool running = true) {
  return {name, ip(address), prefix, 0, running};
}

// A typical node: two Ethernet devices, a container bridge, and one device without a carrier.
const std::vector<Interface>& node() {
  static const std::vector<Interface> all{
      make("lo", "127.0.0.1", 8),
      make("eth0", "10.77.0.1", 24),
      make("eth0", "10.77.0.9", 24),
      make("eth1", "10.78.0.1", 20),
      make("docker0", "172.17.0.1", 16),
      make("eth2", "10.79.0.1", 24, false),
      make("lo", "::1", 128),
      make("eth0", "fd00::1", 64),
      make("eth0", "fe80::1", 64),
      make("ib0", "fe80::2", 64),
  };
  return all;
}

struct Selection {
  bool ok = false;
  std::string text;  // "eth0=10.77.0.1 ..."
  std::string problem;
};

Selection select(std::string_view list) {
  Selection result;
  std::vector<Interface> chosen;
  result.ok = lfc::select_interfaces(list, node(), chosen, result.problem);
  for (const Interface& interface : chosen)
    result.text +=
        (result.text.empty() ? "" : " ") + interface.name + "=" + interface.address.text();
  return result;
}

}  // namespace

TEST_CASE("addresses: parse, text, subnets", "[interfaces]") {
  CHECK(ip("10.1.2.3").text() == "10.1.2.3");
  CHECK(ip("fd00::a").text() == "fd00::a");
  CHECK_FALSE(IpAddress::parse("10.1.2"));
  CHECK_FALSE(IpAddress::parse("eth0"));
  CHECK(ip("127.1.2.3").is_loopback());
  CHECK(ip("::1").is_loopback());
  CHECK_FALSE(ip("fd00::1").is_loopback());
  CHECK(ip("fe80::1").is_link_local());
  CHECK(ip("169.254.7.7").is_link_local());

  CHECK(ip("10.77.15.255").in_subnet(ip("10.77.0.0"), 20));
  CHECK_FALSE(ip("10.77.16.0").in_subnet(ip("10.77.0.0"), 20));
  CHECK(ip("255.1.1.1").in_subnet(ip("10.0.0.0"), 0));
  CHECK(ip("10.0.0.1").in_subnet(ip("10.0.0.1"), 32));
  CHECK_FALSE(ip("10.0.0.1").in_subnet(ip("10.0.0.1"), 33));
  CHECK_FALSE(ip("10.0.0.1").in_subnet(ip("fd00::"), 0));

  sockaddr_storage storage;
  const socklen_t length = ip("fd00::5").to_sockaddr(4711, storage);
  CHECK(length == sizeof(sockaddr_in6));
  CHECK(*IpAddress::from(reinterpret_cast<sockaddr*>(&storage)) == ip("fd00::5"));
}

TEST_CASE("selection by name, address, subnet and exclusion", "[interfaces]") {
  CHECK(select("").text == "eth0=10.77.0.1 eth1=10.78.0.1");
  CHECK(select("docker0").text == "docker0=172.17.0.1");
  CHECK(select("^eth0,eth1").text == "docker0=172.17.0.1");  // the only one left
  CHECK(select("eth").text == "eth0=10.77.0.1 eth1=10.78.0.1");
  CHECK(select("doc,eth1").text == "docker0=172.17.0.1 eth1=10.78.0.1");
  CHECK(select("eth1,eth0").text == "eth1=10.78.0.1 eth0=10.77.0.1");
  CHECK(select(" eth1 , eth1,10.78.0.0/20 ").text == "eth1=10.78.0.1");
  CHECK(select("10.77.0.0/24").text == "eth0=10.77.0.1 eth0=10.77.0.9");
  CHECK(select("10.77.0.9").text == "eth0=10.77.0.9");
  CHECK(select("eth0:6").text == "eth0=fd00::1");
  CHECK(select("fe80::/10").text == "eth0=fe80::1 ib0=fe80::2");
  CHECK(select("lo").text == "lo=127.0.0.1");
  CHECK(select("lo:6").text == "lo=::1");
  CHECK(select("^docker0,lo").text == "eth0=10.77.0.1 eth1=10.78.0.1");
  CHECK(select("^10.77.0.1,docker0,not-here").text == "eth0=10.77.0.9 eth1=10.78.0.1");
}

TEST_CASE("a name behind ^ excludes beginnings, as it names them without", "[interfaces]") {
  CHECK(select("^eth").text == "docker0=172.17.0.1");
  CHECK(select("^docker,eth0").text == "eth1=10.78.0.1");
  CHECK(select("^eth1").text == "eth0=10.77.0.1");  // a device's whole name, so no prefix
  CHECK(select("^eth:6").text == "eth0=10.77.0.1 eth1=10.78.0.1");
  CHECK(select("^eth:4").text == "eth0=fd00::1");

  using Words = std::vector<std::string>;
  CHECK(lfc::idle_exclusions("^docker,wg,eth,10.0.0.0/8", node()) == Words{"wg"});
  CHECK(lfc::idle_exclusions("^192.0.2.0/24", node()) == Words{"192.0.2.0/24"});
  CHECK(lfc::idle_exclusions("eth7", node()).empty());
  CHECK(lfc::idle_exclusions("", node()).empty());
}

TEST_CASE("tunnels are taken only where they are named, or nothing else is left", "[interfaces]") {
  std::vector<Interface> all{make("eno1", "10.1.0.5", 24), make("mytun", "10.9.0.5", 32)};
  all.back().tunnel = true;  // with any name
  for (const char* name : {"wg0", "ppp0", "tailscale0", "ztabc", "tap0", "podman0", "vmnet8"})
    all.push_back(make(name, "10.64.0.5", 24));
  std::vector<Interface> chosen;
  std::string problem;
  REQUIRE(lfc::select_interfaces("", all, chosen, problem));
  REQUIRE(chosen.size() == 1);
  CHECK(chosen.front().name == "eno1");
  REQUIRE(lfc::select_interfaces("wg,mytun", all, chosen, problem));
  CHECK(chosen.size() == 2);
  REQUIRE(lfc::select_interfaces("^eno1", all, chosen, problem));
  CHECK(chosen.size() == all.size() - 1);
}

TEST_CASE("with more interfaces than tcp uses, those of the default route and the fastest stay",
          "[interfaces]") {
  std::vector<Interface> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(make(("ens" + std::to_string(i)).c_str(), "10.1.0.5", 24));
    all.back().megabits = i == 9 ? 100'000 : 10'000;
  }
  all[8].standard = true;
  all[8].megabits = 1'000;
  const auto names = [](const std::vector<Interface>& interfaces) {
    std::string text;
    for (const Interface& each : interfaces) text += each.name.substr(3);
    return text;
  };
  std::vector<Interface> chosen = all;
  CHECK(names(lfc::drop_surplus("", chosen)) == "67");
  CHECK(names(chosen) == "01234589");
  chosen = all;
  CHECK(names(lfc::drop_surplus("^lo", chosen)) == "67");
  chosen = all;
  CHECK(names(lfc::drop_surplus("ens", chosen)) == "89");  // the user's order
  CHECK(lfc::drop_surplus("", chosen).empty());
}

TEST_CASE("loopback addresses stand for a device last", "[interfaces]") {
  const std::vector<Interface> all{make("lo", "127.0.0.1", 8), make("lo", "10.5.0.1", 32)};
  std::vector<Interface> chosen;
  std::string problem;
  REQUIRE(lfc::select_interfaces("lo", all, chosen, problem));
  REQUIRE(chosen.size() == 1);
  CHECK(chosen.front().address == ip("10.5.0.1"));
}

TEST_CASE("a device has further addresses, unless the selection names one", "[interfaces]") {
  std::vector<Interface> all = node();
  all.push_back(make("eth0", "192.168.5.1", 24));
  all.push_back(make("eth0", "fd00::2", 64));
  const Interface four = make("eth0", "10.77.0.1", 24);
  const Interface six = make("eth0", "fd00::1", 64);
  const auto others = [&](const char* list, const Interface& chosen) {
    std::string text;
    for (const Interface& each : lfc::other_addresses(list, all, chosen))
      text += (text.empty() ? "" : " ") + each.address.text();
    return text;
  };
  for (const char* list : {"", "eth0", "eth", "^eth1", "eth1,eth0"}) {
    INFO(list);
    CHECK(others(list, four) == "192.168.5.1 fd00::1");
    CHECK(others(list, six) == "10.77.0.1 192.168.5.1");
  }
  CHECK(others("eth0:4", four) == "192.168.5.1");
  CHECK(others("^fd00::/8", four) == "192.168.5.1");
  CHECK(others("^eth0:6", four) == "192.168.5.1");
  CHECK(others("10.77.0.0/24", four).empty());
  CHECK(others("", make("eth1", "10.78.0.1", 20)).empty());
  for (int i = 10; i < 20; ++i)
    all.push_back(make("eth1", ("10." + std::to_string(i) + ".0.1").c_str(), 24));
  CHECK(lfc::other_addresses("", all, make("eth1", "10.78.0.1", 20)).size() ==
        lfc::kMostAddresses - 1);
}

TEST_CASE("a selection that cannot be met returns the reason", "[interfaces]") {
  const auto complains = [](std::string_view list, const char* word) {
    const Selection result = select(list);
    INFO(list << ": " << result.problem);
    CHECK_FALSE(result.ok);
    CHECK(result.problem.find(word) != std::string::npos);
    CHECK(result.problem.find('\n') == std::string::npos);
  };
  complains("eth7", "no interface is named \"eth7\"");
  complains("eth7", "eth0, eth1, docker0");
  complains("eth0,eth7", "eth7");
  complains("192.0.2.0/24", "no address of this node is in 192.0.2.0/24");
  complains("10.77.0.0/33", "from 0 to 32");
  complains("10.77.0.0/x", "from 0 to 32");
  complains("10.77.0.0/", "from 0 to 32");
  complains("fd00::/129", "from 0 to 128");
  complains("10.77/16", "not a subnet");
  complains("eth2", "down");
  complains("ib0", "link-local");
  complains("eth0,^eth1", "come first");
  complains("^0.0.0.0/0,::/0", "no interface is left");
}

TEST_CASE("a node without an id in /proc is identified by its addresses", "[interfaces]") {
  constexpr std::uint64_t kGuess = std::uint64_t{1} << 63;
  CHECK(lfc::node_tag() < kGuess);
  CHECK(lfc::is_same_node(7, 7, false));
  CHECK_FALSE(lfc::is_same_node(7, 8, true));
  for (const std::uint64_t guess : {kGuess + 7, kGuess + 8}) {
    CHECK(lfc::is_same_node(7, guess, true));
    CHECK(lfc::is_same_node(guess, 7, true));
    CHECK(lfc::is_same_node(kGuess + 9, guess, true));
    CHECK_FALSE(lfc::is_same_node(7, guess, false));
    CHECK_FALSE(lfc::is_same_node(kGuess + 9, guess, false));
  }
  std::string why;
  for (const Interface& interface : lfc::list_interfaces())
    if (interface.running) CHECK(lfc::can_reach(interface, interface.address, kGuess, why));
}

TEST_CASE("this node's own interfaces", "[interfaces]") {
  const std::vector<Interface> all = lfc::list_interfaces();
  const auto loopback = std::find_if(all.begin(), all.end(), [](const Interface& interface) {
    return interface.address == ip("127.0.0.1");
  });
  REQUIRE(loopback != all.end());
  CHECK(loopback->prefix == 8);
  CHECK(loopback->running);

  const std::uint64_t here = lfc::node_tag();
  CHECK(here == lfc::node_tag());
  const std::uint64_t elsewhere = here + 1;
  std::string why;
  CHECK(lfc::can_reach(*loopback, ip("127.0.0.1"), here, why));
  CHECK_FALSE(lfc::can_reach(*loopback, ip("127.0.0.1"), elsewhere, why));
  CHECK(why.find("stay on their node") != std::string::npos);
  CHECK_FALSE(lfc::can_reach(*loopback, ip("::1"), here, why));
  CHECK(why.find("IPv6") != std::string::npos);
  CHECK_FALSE(lfc::can_reach(*loopback, ip("192.0.2.77"), elsewhere, why));
  CHECK(why.find("loopback") != std::string::npos);

  for (const Interface& interface : all) {
    if (interface.address.is_loopback() || !interface.running) continue;
    INFO(interface.name << " " << interface.address.text());
    CHECK(lfc::can_reach(interface, interface.address, here, why));
    CHECK_FALSE(lfc::can_reach(interface, interface.address, elsewhere, why));
    CHECK(why.find("has that address itself") != std::string::npos);
    // An address nearby: the last bit flipped.
    IpAddress neighbour = interface.address;
    neighbour.bytes[neighbour.size() - 1] ^= 1;
    if (!neighbour.in_subnet(interface.address, interface.prefix)) continue;
    const bool reached = lfc::can_reach(interface, neighbour, elsewhere, why);
    INFO(why);
    CHECK(reached);
  }
}
