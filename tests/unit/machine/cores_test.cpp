// Quotas of control groups: both versions, nested groups, and the view from a container.
#include "machine/cores.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"

namespace lfc {
namespace {

// A folder like /sys/fs/cgroup.
struct Groups {
  Groups() {
    char name[] = "/tmp/lfc-groups-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    mounted = name;
  }
  ~Groups() { std::filesystem::remove_all(mounted); }
  void say(const std::string& group, const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(mounted + group);
    std::ofstream(mounted + group + "/" + file) << text << "\n";
  }

  std::string mounted;
};

}  // namespace

TEST_CASE("quota: the least along the way to the root, version 2", "[machine]") {
  const Groups groups;
  const char* const own = "0::/system.slice/slurm/job_7\n";
  CHECK(cpu_quota(groups.mounted, own) == 0);
  groups.say("/system.slice/slurm/job_7", "cpu.max", "max 100000");
  CHECK(cpu_quota(groups.mounted, own) == 0);
  groups.say("/system.slice", "cpu.max", "350000 100000");
  CHECK(cpu_quota(groups.mounted, own) == 4);
  groups.say("/system.slice/slurm/job_7", "cpu.max", "150000 100000");
  CHECK(cpu_quota(groups.mounted, own) == 2);
  groups.say("/system.slice/slurm", "cpu.max", "50000 100000");
  CHECK(cpu_quota(groups.mounted, own) == 1);
  CHECK(cpu_quota(groups.mounted, "0::/other\n") == 0);
}

TEST_CASE("quota: version 1, beside version 2 or alone", "[machine]") {
  const Groups groups;
  const char* const own =
      "12:memory:/docker/4711\n5:cpu,cpuacct:/docker/4711\n4:cpuset:/\n0::/docker/4711\n";
  groups.say("/cpu,cpuacct/docker/4711", "cpu.cfs_quota_us", "-1");
  groups.say("/cpu,cpuacct/docker/4711", "cpu.cfs_period_us", "100000");
  CHECK(cpu_quota(groups.mounted, own) == 0);
  groups.say("/cpu,cpuacct/docker/4711", "cpu.cfs_quota_us", "250000");
  CHECK(cpu_quota(groups.mounted, own) == 3);
  CHECK(cpu_quota(groups.mounted, "4:cpuset:/docker/4711\n") == 0);
  groups.say("/unified/docker", "cpu.max", "200000 100000");
  CHECK(cpu_quota(groups.mounted, own) == 2);
}

TEST_CASE("quota: a container that sees its own groups as the root", "[machine]") {
  const Groups groups;
  groups.say("/cpu", "cpu.cfs_quota_us", "400000");
  groups.say("/cpu", "cpu.cfs_period_us", "100000");
  CHECK(cpu_quota(groups.mounted, "3:cpu:/kubepods/pod1/c2\n") == 4);
  groups.say("", "cpu.max", "100000 100000");
  CHECK(cpu_quota(groups.mounted, "0::/\n") == 1);
  CHECK(cpu_quota(groups.mounted, "nonsense\n:\n") == 0);
}

}  // namespace lfc
