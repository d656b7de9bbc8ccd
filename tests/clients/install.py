"""``make .clients``: puts the clients of the tests into ``.clients``, at the versions that ``pins`` holds.

A folder of ``pins`` is one installation of npm, with the hash of each package in its lock file; the Python
SDKs are those of the development environment. What is there already at these versions stays.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).parent / "pins"
HOME = Path(__file__).parents[2] / ".clients"
NODE = "node24"
"""Programs of others refuse older releases of Node; this one comes as a package."""
_STAMP = "installed"


def main() -> None:
    if shutil.which("npm") is None:
        raise SystemExit("npm is needed to install the clients (Debian: apt-get install npm)")
    groups = sorted((folder.name for folder in PINS.iterdir()), key=lambda name: name != NODE)
    for group in groups:
        if not installed(group):
            print(f"installing {group}", flush=True)
            _install(group)
    _link_python()


def installed(group: str) -> bool:
    """Whether this group is there at its pinned versions."""
    stamp = _folder(group) / _STAMP
    return stamp.is_file() and stamp.read_text() == _hash(group)


def everything() -> bool:
    """Whether all groups are there."""
    return all(installed(folder.name) for folder in PINS.iterdir())


def _folder(group: str) -> Path:
    return HOME / group if group == NODE else HOME / "npm" / group


def _hash(group: str) -> str:
    return hashlib.sha256((PINS / group / "package-lock.json").read_bytes()).hexdigest()


def _install(group: str) -> None:
    folder = _folder(group)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PINS / group / name, folder)
    node = HOME / NODE / "node_modules" / ".bin"
    done = subprocess.run(
        ["npm", "install", "--no-save", "--no-audit", "--no-fund"],
        cwd=folder,
        env={**os.environ, "PATH": f"{node}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{group} cannot be installed:\n{done.stderr[:2000]}")
    (folder / _STAMP).write_text(_hash(group))


def _link_python() -> None:
    """The interpreter that runs this has the SDKs."""
    place = HOME / "py" / "official"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(sys.prefix)


if __name__ == "__main__":
    main()
