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
-- A job that does not name LFC is not changed by it. Open MPI's own folder comes first: it skips all folders behind one
-- that does not exist.
setenv("OMPI_MCA_mca_base_component_path", "SYS_DEFAULT:" .. pathJoin(prefix, "lib/openmpi"))
-- With Open MPI 5.0 PMIx must keep its own folder, or each process prints some 35 lines. lfc-info --environment prints it:
-- setenv("PMIX_MCA_mca_base_component_path", "/usr/lib/x86_64-linux-gnu/pmix2/lib/pmix")
-- Open MPI 5.0 is silent about components that it cannot load, unless told (4.1 knows no such list, and tells of all):
-- setenv("OMPI_MCA_mca_base_component_show_load_errors", "btl,coll,osc,part")
