"""listing: the files of a tree, for checks in Python.

    sys.path.insert(0, str(tree / "scripts/lib"))
    from listing import files_of
    for name in files_of(tree): check(tree / name)
"""
import subprocess


def files_of(tree):
    """Returns the sorted names of the files that git tracks or would add; without git, of all that no build has made."""
    command = ["git", "-C", tree, "ls-files", "-co", "--exclude-standard"]
    try:
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        names = [p.relative_to(tree).as_posix() for p in tree.rglob("*")]
    return sorted(n for n in names if n and (tree / n).is_file() and n.split("/")[0] not in ("build", ".git"))
