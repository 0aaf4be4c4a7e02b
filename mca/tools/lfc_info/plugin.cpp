#include "plugin.hpp"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/build_id.hpp"

namespace lfc {
namespace {

constexpr std::string_view kFile = "/mca_btl_lfc.so";
constexpr std::string_view kPath = "mca_base_component_path";

std::string variable(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::string folder_of(std::string_view word) {
  if (word == "SYS_DEFAULT" || word == "SYSTEM_DEFAULT")
    return variable("OPAL_PKGLIBDIR", LFC_OMPI_COMPONENTS);
  if (word == "USER_DEFAULT" || word == "USR_DEFAULT")
    return variable("HOME", "") + "/.openmpi/components";
  return std::string(word);
}

bool can_be_opened(const std::string& folder) {
  DIR* const opened = ::opendir(folder.c_str());
  if (opened != nullptr) ::closedir(opened);
  return opened != nullptr;
}

// In single quotes, as a shell reads it.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char each : text) each == '\'' ? result += "'\\''" : result += each;
  return result + "'";
}

// Open MPI loads the first component of a name that it finds. Its own folder comes first, unless it holds
// another LFC: it skips all folders behind one that does not exist.
std::string path_to_own() {
  const std::string own = own_components(), system = folder_of("SYS_DEFAULT");
  const bool is_other = ::access((system + std::string(kFile)).c_str(), R_OK) == 0 &&
                        std::filesystem::weakly_canonical(system) != own;
  return is_other ? own + ":SYS_DEFAULT" : "SYS_DEFAULT:" + own;
}

std::string export_of(const char* name, const std::string& value) {
  return std::string("export ") + name + "=" + value + "\n";
}

}  // namespace

Plugin Plugin::find(const Settings& settings) {
  Plugin plugin{"SYS_DEFAULT:USER_DEFAULT", "default", {}, {}};
  const Setting* set = settings.find(kPath);
#ifdef LFC_PMIX_COMPONENTS
  // The mpirun of Open MPI 5.0 passes PMIx's list to the ranks, unless the environment has one.
  const Settings of_pmix =
      Settings::of_files({variable("HOME", "") + "/.pmix/mca-params.conf", LFC_PMIX_FILE});
  if ((set == nullptr || set->source != "environment") && of_pmix.find(kPath) != nullptr)
    set = of_pmix.find(kPath);
#endif
  if (set != nullptr) {
    plugin.path = set->value;
    plugin.source = set->source;
  }
  std::string_view rest = plugin.path;
  while (!rest.empty() && plugin.folder.empty() && plugin.unreadable.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder = folder_of(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (folder.empty()) continue;
    if (::access((folder + std::string(kFile)).c_str(), R_OK) == 0)
      plugin.folder = std::filesystem::weakly_canonical(folder);
    else if (!can_be_opened(folder) && !rest.empty())
      plugin.unreadable = folder;
  }
  return plugin;
}

std::string own_components() {
  return std::filesystem::weakly_canonical(library_path()).parent_path();
}

std::string environment() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  std::string lines = export_of("PATH", in_quotes(program.parent_path().string()) + ":\"$PATH\"");
  lines += export_of("OMPI_MCA_mca_base_component_path", in_quotes(path_to_own()));
#ifdef LFC_PMIX_COMPONENTS
  // PMIx 5 would take Open MPI's variable for its own, and complain of each file.
  lines += export_of("PMIX_MCA_mca_base_component_path", in_quotes(LFC_PMIX_COMPONENTS));
#endif
  return lines;
}

}  // namespace lfc
