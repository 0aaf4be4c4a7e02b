#include "settings.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <span>
#include <utility>

extern char** environ;

namespace lfc {
namespace {

constexpr std::string_view kPrefix = "OMPI_MCA_";
constexpr std::string_view kBlank = " \t\f\v\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

// As Open MPI reads numbers: octal and hexadecimal ones too, and 64k, 1M, 2g.
std::uint64_t number_of(const std::string& text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text.c_str(), &end, 0);
  switch (end == text.c_str() ? '\0' : *end) {
    case 'k':
    case 'K': return value << 10;
    case 'm':
    case 'M': return value << 20;
    case 'g':
    case 'G': return value << 30;
    default: return value;
  }
}

bool truth_of(const std::string& text) {
  for (const char* word : {"true", "t", "enabled", "yes", "y"})
    if (text == word) return true;
  return number_of(text) != 0;
}

void store(const lfc_parameter& row, const std::string& value, void* values) {
  void* const member = static_cast<char*>(values) + row.offset;
  switch (row.type) {
    case LFC_UNSIGNED:
      *static_cast<unsigned*>(member) = static_cast<unsigned>(number_of(value));
      break;
    case LFC_SIZE: *static_cast<std::size_t*>(member) = number_of(value); break;
    case LFC_FLAG: *static_cast<bool*>(member) = truth_of(value); break;
    case LFC_TEXT: *static_cast<lfc_text*>(member) = value.c_str(); break;
  }
}

// The list that the environment gives, or the user's file before the system's.
std::vector<std::string> parameter_files(const std::string& system_folder) {
  const std::string list = variable("OMPI_MCA_mca_base_param_files",
                                    variable("HOME", "") + "/.openmpi/mca-params.conf," +
                                        system_folder + "/openmpi-mca-params.conf");
  std::vector<std::string> files;
  for (std::size_t begin = 0; begin < list.size() && list != "none";) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) files.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return files;
}

}  // namespace

Settings Settings::read() {
  Settings settings;
  const std::string system_folder = variable("OPAL_SYSCONFDIR", LFC_OMPI_SYSCONFDIR);
  settings.add_file(system_folder + "/openmpi-mca-params-override.conf");
  settings.add_environment();
  settings.files_ = parameter_files(system_folder);
  for (const std::string& file : settings.files_) settings.add_file(file);
  return settings;
}

Settings Settings::of_files(const std::vector<std::string>& files) {
  Settings settings;
  settings.files_ = files;
  for (const std::string& file : files) settings.add_file(file);
  return settings;
}

void Settings::add(Setting setting) {
  if (find(setting.name) == nullptr) all_.push_back(std::move(setting));
}

// If several lines set one parameter, the last counts.
void Settings::add_file(const std::string& file) {
  std::ifstream stream(file);
  std::vector<Setting> lines;
  std::string text;
  for (unsigned number = 1; std::getline(stream, text); ++number) {
    const std::string_view line = trimmed(text);
    const std::size_t equal = line.find('=');
    if (line.starts_with('#') || line.starts_with("//") || equal == std::string_view::npos)
      continue;
    const std::string name(trimmed(line.substr(0, equal)));
    std::erase_if(lines, [&name](const Setting& each) { return each.name == name; });
    lines.push_back(
        {name, std::string(trimmed(line.substr(equal + 1))), file + ":" + std::to_string(number)});
  }
  for (Setting& line : lines) add(std::move(line));
}

void Settings::add_environment() {
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::size_t equal = text.find('=');
    if (!text.starts_with(kPrefix) || equal == std::string_view::npos) continue;
    add({std::string(text.substr(kPrefix.size(), equal - kPrefix.size())),
         std::string(text.substr(equal + 1)), "environment"});
  }
}

const Setting* Settings::find(std::string_view name) const noexcept {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [name](const Setting& each) { return each.name == name; });
  return found == all_.end() ? nullptr : &*found;
}

std::size_t Settings::number(std::string_view name, std::size_t otherwise) const {
  const Setting* const setting = find(name);
  return setting == nullptr ? otherwise : number_of(setting->value);
}

void Settings::apply(const lfc_parameter_table& table, void* values) const {
  lfc_parameters_reset(&table, values);
  for (const lfc_parameter& row : std::span(table.rows, table.count)) {
    const Setting* const setting = find(std::string(table.component) + "_" + row.name);
    if (setting != nullptr) store(row, setting->value, values);
  }
}

}  // namespace lfc
