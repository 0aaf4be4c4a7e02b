"""Finds this tree's build."""
import os
import re
from pathlib import Path

TREE = Path(__file__).resolve().parent.parent.parent
ROOT = Path(os.environ.get("LFC_BUILD") or TREE / "build")


def _finds_errors(directory):
    """Returns whether a build is only for finding errors, not for timing: sanitizers, small limits, defects."""
    cache = directory / "CMakeCache.txt"
    wanted = r"^LFC_(SANITIZE:\w+=.|SMALL_WORLD:\w+=ON)"
    return directory.name == "defects" or cache.is_file() and re.search(wanted, cache.read_text(encoding="utf-8"), re.MULTILINE)


def find(name, folder):
    """Returns the newest FOLDER/NAME in a build directory of this tree, or None."""
    directories = [path for path in ROOT.glob("*") if path.is_dir() and not _finds_errors(path)]
    found = [path for directory in directories for path in directory.glob(f"{folder}/{name}") if path.is_file()]
    return str(max(found, key=lambda path: path.stat().st_mtime)) if found else None


def component_directory(chosen):
    """Returns the folder of LFC's component: as chosen, else of the newest build; None: Open MPI finds it by itself."""
    if chosen:
        return chosen
    if "OMPI_MCA_mca_base_component_path" in os.environ:
        return None
    built = find("mca_btl_lfc.so", "**")
    return os.path.dirname(built) if built else None
