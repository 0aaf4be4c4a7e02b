"""Where this tree's build is."""
import os
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent.parent
ROOT = Path(os.environ.get("LFC_BUILD") or TREE / "build")


def find(name, folder):
    """The newest FOLDER/NAME in a build directory of this tree, or None."""
    found = [path for path in ROOT.glob(f"*/{folder}/{name}") if path.is_file()]
    return str(max(found, key=lambda path: path.stat().st_mtime)) if found else None


def component_directory(chosen):
    """Where LFC's component is: as chosen, else of the newest build; None: Open MPI will find it by itself."""
    if chosen:
        return chosen
    if "OMPI_MCA_mca_base_component_path" in os.environ:
        return None
    built = find("mca_btl_lfc.so", "**")
    return os.path.dirname(built) if built else None
