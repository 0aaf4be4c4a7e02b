// The number of connections for an interface, by its description in sysfs.
#include "link/connections.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"

using lfc::connections_for;

TEST_CASE("connections: by vendor, by members of a bond whose flows spread, else one",
          "[interfaces]") {
  std::string root = (std::filesystem::temp_directory_path() / "lfc-net-XXXXXX").string();
  REQUIRE(::mkdtemp(root.data()) != nullptr);
  const auto says = [&](const std::string& file, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(root) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  };
  says("ens5/device/vendor", "0x1d0f");
  says("ens4/device/vendor", "0x1ae0");
  says("eth0/device/vendor", "0x8086");
  says("bond0/bonding/slaves", "eth1 eth2 eth3");
  says("bond0/bonding/mode", "802.3ad 4");
  says("bond0/bonding/xmit_hash_policy", "layer3+4 1");
  CHECK(connections_for("ens5", root) == 8);
  CHECK(connections_for("ens4", root) == 4);
  CHECK(connections_for("eth0", root) == 1);
  CHECK(connections_for("lo", root) == 1);
  CHECK(connections_for("bond0", root) == 3);
  says("bond0/bonding/slaves", "a b c d e f g h i j");
  CHECK(connections_for("bond0", root) == 8);
  says("bond0/bonding/xmit_hash_policy", "layer2 0");  // one member for each destination
  CHECK(connections_for("bond0", root) == 1);
  says("bond0/bonding/xmit_hash_policy", "layer3+4 1");
  says("bond0/bonding/mode", "active-backup 1");
  CHECK(connections_for("bond0", root) == 1);
  std::filesystem::remove_all(root);
}
