// Settings: the parameters of Open MPI that a job started here would find set, and where each value comes from. The
// first of these sources that sets a parameter counts: the administrator's file of overrides, the environment, the
// user's parameter file, the system's parameter file.
//
//   const Settings settings = Settings::read();
//   lfc_coll_parameters coll;
//   settings.apply(*lfc_coll_parameter_table(), &coll);               // defaults, and values that are set
//   if (const Setting* btl = settings.find("btl")) print(btl->value, btl->source);
//
// The files are read as Open MPI reads them: a line `name = value` ends with the line, and # or // begins a comment.
// Ownership: texts that apply() stores belong to the Settings. Held by tests/scripts/info.sh.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lfc/lfc.h"

namespace lfc {

struct Setting {
  std::string name, value;
  std::string source;  // "environment", or FILE:LINE
};

class Settings {
 public:
  static Settings read();
  // Reads these files alone; the first one that sets a parameter counts.
  static Settings of_files(const std::vector<std::string>& files);

  // In the order of the sources. `files`: those that were looked for.
  const std::vector<Setting>& all() const noexcept { return all_; }
  const std::vector<std::string>& files() const noexcept { return files_; }
  // Null: the parameter is not set.
  const Setting* find(std::string_view name) const noexcept;

  // The value of a parameter as Open MPI reads numbers; `otherwise`, if it is not set.
  std::size_t number(std::string_view name, std::size_t otherwise) const;

  // Stores the defaults of the table in `values`, and the values of those of its parameters that are set.
  void apply(const lfc_parameter_table& table, void* values) const;

 private:
  void add(Setting setting);
  void add_file(const std::string& file);
  void add_environment();

  std::vector<Setting> all_;
  std::vector<std::string> files_;
};

}  // namespace lfc
