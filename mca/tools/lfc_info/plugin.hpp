// Plugin: where Open MPI looks for components, and the mca_btl_lfc.so that a job would load.
//
//   const Plugin plugin = Plugin::find(Settings::read());
//   if (plugin.folder.empty()) ...                   // a job cannot load LFC
//   if (plugin.folder != own_components()) ...       // a job loads another build than this program's
//   print(environment());                            // eval "$(lfc-info --environment)"
//
// Held by tests/scripts/info.sh.
#pragma once

#include <string>

#include "settings.hpp"

namespace lfc {

struct Plugin {
  static Plugin find(const Settings& settings);

  std::string path;    // the list of folders in which Open MPI looks
  std::string source;  // of the list: "default", "environment", or FILE:LINE
  std::string
      unreadable;  // the first folder that cannot be opened: Open MPI skips those behind it; empty: none
  std::string folder;  // the first that holds mca_btl_lfc.so; empty: none does
};

// The folder of the components of the build to which this program belongs: that of the loaded liblfc.
std::string own_components();

// Lines for a shell, with which jobs find that build's components and programs. Open MPI's own folder comes first,
// because a deleted folder in front of it would stop every job of the user. It comes last only if it holds another LFC.
std::string environment();

}  // namespace lfc
