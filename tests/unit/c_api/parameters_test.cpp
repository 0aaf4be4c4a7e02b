#include "lfc/parameters.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "engine/open.hpp"
#include "link/ofi/ofi_link.hpp"

namespace {

// Values of any component's parameters; large enough for each table.
struct Values {
  alignas(8) std::byte bytes[512]{};

  template <class T>
  void set(const lfc_parameter& row, T value) {
    std::memcpy(bytes + row.offset, &value, sizeof value);
  }
  void set_number(const lfc_parameter& row, std::uint64_t value) {
    if (row.type == LFC_UNSIGNED) return set(row, static_cast<unsigned>(value));
    set(row, static_cast<std::size_t>(value));
  }
};

std::span<const lfc_parameter> rows_of(const lfc_parameter_table& table) {
  return {table.rows, table.count};
}

// Empty: accepted.
std::string fault(const lfc_parameter_table& table, const Values& values) {
  char text[256] = "";
  const bool accepted = lfc_parameters_check(&table, values.bytes, text, sizeof text);
  REQUIRE(accepted == (*text == '\0'));
  return text;
}

const lfc_parameter_table* const kTables[] = {lfc_btl_parameter_table(), lfc_ob1_parameter_table(),
                                              lfc_coll_parameter_table(), lfc_osc_parameter_table(),
                                              lfc_part_parameter_table()};

}  // namespace

TEST_CASE("every parameter's default is accepted, and it has a name of its own and a text",
          "[parameters]") {
  for (const lfc_parameter_table* table : kTables) {
    Values values;
    lfc_parameters_reset(table, values.bytes);
    CHECK(fault(*table, values) == "");
    std::set<std::string> names;
    for (const lfc_parameter& row : rows_of(*table)) {
      INFO(row.name);
      CHECK(names.insert(row.name).second);
      CHECK(std::strlen(row.help) > 10);
      CHECK((row.level >= 1 && row.level <= 9));
      CHECK(row.offset < sizeof values.bytes);
      CHECK(lfc_parameter_name(table, values.bytes, values.bytes + row.offset) ==
            std::string(row.name));
    }
  }
}

TEST_CASE("numbers are accepted up to their bounds, and numbers beyond are refused by name",
          "[parameters]") {
  for (const lfc_parameter_table* table : kTables) {
    for (const lfc_parameter& row : rows_of(*table)) {
      if (row.type != LFC_UNSIGNED && row.type != LFC_SIZE) continue;
      INFO(row.name);
      Values values;
      lfc_parameters_reset(table, values.bytes);
      const std::uint64_t most = row.type == LFC_UNSIGNED ? UINT32_MAX : UINT64_MAX;
      const std::uint64_t largest = std::min(row.largest, most);
      const std::string begins = std::string(table->component) + "_" + row.name + ": ";
      for (const std::uint64_t value :
           {row.smallest, row.power_of_two ? row.smallest * 2 : largest, largest}) {
        if (row.power_of_two && (value & (value - 1)) != 0) continue;
        values.set_number(row, value);
        CHECK(fault(*table, values) == "");
      }
      if (row.smallest > 0) {
        values.set_number(row, row.smallest - 1);
        CHECK(fault(*table, values).starts_with(begins + std::to_string(row.smallest - 1)));
      }
      if (largest < most) {
        values.set_number(row, largest + 1);
        CHECK(fault(*table, values).starts_with(begins + std::to_string(largest + 1)));
      }
      if (row.power_of_two) {
        values.set_number(row, row.smallest + 1);
        CHECK(fault(*table, values).starts_with(begins + std::to_string(row.smallest + 1)));
      }
    }
  }
}

TEST_CASE("a word is known by its place, and others are refused with the list", "[parameters]") {
  for (const lfc_parameter_table* table : kTables) {
    for (const lfc_parameter& row : rows_of(*table)) {
      if (row.type != LFC_TEXT) continue;
      INFO(row.name);
      Values values;
      lfc_parameters_reset(table, values.bytes);
      const auto* const member = reinterpret_cast<const lfc_text*>(values.bytes + row.offset);
      for (std::size_t i = 0; i < row.word_count; ++i) {
        values.set(row, row.words[i]);
        CHECK(fault(*table, values) == "");
        CHECK(lfc_parameter_choice(table, values.bytes, member) == i);
      }
      for (const lfc_text other : {lfc_text{"nosuch"}, lfc_text{""}, lfc_text{nullptr}}) {
        values.set(row, other);
        const std::string what = fault(*table, values);
        CHECK(what.empty() == (row.word_count == 0));
        for (std::size_t i = 0; i < row.word_count; ++i)
          CHECK(what.find(row.words[i]) != std::string::npos);
      }
    }
  }
}

TEST_CASE("a word with a colon stands for all texts that go on behind it", "[parameters]") {
  const lfc_parameter_table* const table = lfc_coll_parameter_table();
  lfc_coll_parameters values{};
  lfc_parameters_reset(table, &values);
  char text[256];
  const auto accepted = [&](lfc_text word) {
    values.channels = word;
    return lfc_parameters_check(table, &values, text, sizeof text);
  };
  CHECK(accepted("plan:app.plan"));
  CHECK(lfc_parameter_choice(table, &values, &values.channels) == 2);
  CHECK(accepted("record:/tmp/a b"));
  CHECK(lfc_parameter_choice(table, &values, &values.channels) == 3);
  for (const lfc_text other : {"record:", "plan:", "record", "recor:x", "bind:x", "off:"}) {
    INFO(other);
    CHECK_FALSE(accepted(other));
  }
}

TEST_CASE("default links that few nodes have are left out without a notice", "[parameters]") {
  static int detours;
  detours = 0;
  lfc::NiOptions options;
  options.policy = "single";
  options.local_processes = 2;
  options.detour = [](std::string_view, std::string_view) { ++detours; };
  const auto open = [&](const std::string& links, std::string& error) {
    options.links = links.c_str();
    std::string notes;
    return lfc::open_ni(options, error, notes) == nullptr ? "" : notes;
  };
  std::string error;
  // If all ranks are on one node, the engine does not search for RDMA devices. On nodes without such devices it
  // reports nothing about them.
  options.other_nodes = GENERATE(false, true);
  const std::string notes = open(lfc::default_links(), error);
  INFO(notes << error);
  CHECK(notes.find("links loop shm") != std::string::npos);
  if (!options.other_nodes || !std::filesystem::exists("/sys/class/infiniband"))
    CHECK(notes.find("verbs") == std::string::npos);
  CHECK(detours == 0);
  // An interface that a link does not use is no error.
  options.interfaces = "127.0.0.1";
  CHECK_FALSE(open(lfc::default_links(), error).empty());
  CHECK(error.empty());
}

TEST_CASE("a provider that hangs is warned of, once for a job", "[parameters]") {
  const std::vector<std::string> present = lfc::ofi_providers();
  static std::string lines;
  const auto lines_with = [](const std::string& provider, std::uint32_t rank) {
    lines.clear();
    lfc::NiOptions options;
    options.name = {1, rank};
    options.links = "loop,ofi";
    options.interfaces = "127.0.0.1";
    options.provider = provider.c_str();
    options.policy = "single";
    options.notice = [](std::string_view line) { lines += std::string(line) + "\n"; };
    std::string error;
    std::string notes;
    const auto ni = lfc::open_ni(options, error, notes);
    INFO(error);
    CHECK(ni != nullptr);
    return lines;
  };
  CHECK(lines_with("", 0).empty());
  const std::string hangs(lfc::kHangingOfiProvider);
  if (std::find(present.begin(), present.end(), hangs) == present.end()) {
    WARN("skipped, not present: " << hangs);
    return;
  }
  const std::string line = lines_with(hangs, 0);
  CHECK(line.find("provider " + hangs) == 0);
  CHECK(line.find("btl_lfc_provider") != std::string::npos);
  CHECK(std::count(line.begin(), line.end(), '\n') == 1);
  CHECK(lines_with(hangs, 1).empty());
}

TEST_CASE("a fault between two parameters is refused by name", "[parameters]") {
  const auto fault_with = [](auto change) {
    lfc::NiOptions options;
    change(options);
    std::string error;
    std::string notes;
    CHECK(lfc::open_ni(options, error, notes) == nullptr);
    return error;
  };
  CHECK(fault_with([](auto& o) {
          o.max_window = o.initial_window - 1;
        }).starts_with("btl_lfc_max_window: "));
  CHECK(fault_with([](auto& o) { o.links = nullptr; }) ==
        "btl_lfc_links: none is named (accepted: " + lfc::accepted_links() + ")");
  CHECK(fault_with([](auto& o) {
          o.links = "loop,smh";
        }).starts_with("btl_lfc_links: there is no link 'smh'"));
  CHECK(fault_with([](auto& o) { o.links = "loop,loop"; }) ==
        "btl_lfc_links: 'loop' is named twice");
  CHECK(fault_with([](auto& o) {
          o.provider = "verbs";
        }).starts_with("btl_lfc_provider: 'verbs' needs the link ofi"));
  // The link verbs also heeds them, if it was built.
  const std::string unheeded = fault_with([](auto& o) {
    o.links = "loop";
    o.interfaces = "eth0";
  });
  CHECK(unheeded.starts_with("btl_lfc_interfaces: 'eth0' needs the link "));
  CHECK(unheeded.find("tcp or ofi") != std::string::npos);
  CHECK(fault_with([](auto& o) {
          o.policy = "single";
          o.upcalls = true;
        }) == "btl_lfc_upcalls: need the engine's thread, but policy is 'single'");
}
