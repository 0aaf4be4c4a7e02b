-- A module file for Lmod: configure LFC with -DCMAKE_INSTALL_PREFIX=<prefix> -DLFC_OMPI_COMPONENTS=<prefix>/lib/openmpi,
-- set `prefix` to that, and put this file under the Open MPI that LFC was built for.
local prefix = "/opt/lfc/0.1.0"

help("LFC, a communication plugin for Open MPI: mpirun --mca btl lfc --mca osc neon ./app")
whatis("Name: LFC")
whatis("Version: 0.1.0")

depends_on("openmpi")
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
prepend_path("LD_LIBRARY_PATH", pathJoin(prefix, "lib"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
-- Open MPI looks for components there first; a job that does not name LFC is not changed by it.
setenv("OMPI_MCA_mca_base_component_path", pathJoin(prefix, "lib/openmpi") .. ":SYS_DEFAULT")
-- Open MPI 5.0 is silent about components that it cannot load, unless told (4.1 knows no such list, and tells of all):
-- setenv("OMPI_MCA_mca_base_component_show_load_errors", "btl,coll,osc,part")
