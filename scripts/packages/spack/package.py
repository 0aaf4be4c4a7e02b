# A Spack package of LFC. Create a repository (spack repo create mine), copy this folder to mine/packages/lfc, and run:
#
#   spack install lfc ^openmpi@4.1       # Spack's Open MPI lacks the developer headers; LFC takes them from its source
#   spack load lfc && mpirun --mca btl lfc ./app
#
# There is no archive to fetch. Build it from a tree by `spack dev-build lfc@0.1.0` in the tree's folder.
from spack.package import *


class Lfc(CMakePackage):
    """A communication plugin for Open MPI on Ethernet clusters and single nodes."""

    maintainers = []
    license("BSD-3-Clause")
    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3", type="build")
    depends_on("openmpi@4.1:5.0")
    depends_on("libfabric")
    depends_on("rdma-core")
    depends_on("hwloc")
    conflicts("%gcc@:11", msg="LFC needs C++20")

    generator("ninja")

    # This is Open MPI's source, from which scripts/ompi-headers takes the headers.
    @run_before("cmake")
    def take_headers(self):
        openmpi = self.spec["openmpi"]
        if find(openmpi.prefix.include, "opal_config.h"):
            return
        with working_dir(self.build_directory, create=True):
            openmpi.package.do_stage()
            script = Executable(join_path(self.stage.source_path, "scripts", "ompi-headers"))
            script.add_default_env("PATH", openmpi.prefix.bin + ":" + env["PATH"])
            script(str(openmpi.version), openmpi.package.stage.source_path, "ompi-headers")

    def cmake_args(self):
        arguments = [
            self.define("LFC_TESTS", False),
            self.define("LFC_PERF", False),
            self.define("LFC_MPICC", self.spec["mpi"].mpicc),
            self.define("LFC_OMPI_COMPONENTS", self.prefix.lib.openmpi),
        ]
        headers = join_path(self.build_directory, "ompi-headers")
        if find(self.build_directory, "opal_config.h"):
            arguments.append(self.define("LFC_OMPI_HEADERS", headers))
        return arguments

    # The components are in a folder of LFC's own, so Open MPI needs its path. Its own folder comes first, because it
    # skips all folders behind one that does not exist. PMIx 5 must keep its own folder, or it prints complaints.
    def setup_run_environment(self, env):
        env.set("OMPI_MCA_mca_base_component_path", "SYS_DEFAULT:" + self.prefix.lib.openmpi)
        if self.spec.satisfies("^openmpi@5:"):  # 4.1 has no such list, and reports all errors
            env.set("PMIX_MCA_mca_base_component_path", self.spec["pmix"].prefix.lib.pmix)
            env.set("OMPI_MCA_mca_base_component_show_load_errors", "btl,coll,osc,part")
