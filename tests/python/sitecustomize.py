"""Make Ansible's modules start faster. Python imports this file at its start, since ``tests/conftest.py`` puts its folder on PYTHONPATH.

For each task ansible-core packs a module and all that it imports into a zip file of sources. Python's ``zipimport`` writes no bytecode: it
compiles them anew at each start, and each of them twice (to find it and to load it). That is a quarter of the time of a task that calls one
of our modules, and the tests play thousands. Here each source is compiled once for a version of Python. With TESTS_CONNECTION, most modules
start no Python at all (``tests/connection``).
"""

from __future__ import annotations

import marshal
import os
import sys
import zipimport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

# Nothing more is imported here: every Python program of the tests would be slower to start.
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 - pathlib takes long to import
FOLDER = f"{_ROOT}/.build/bytecode/{sys.implementation.cache_tag}"

# There is no public hook. Without this one tests are only slower.
_compile = getattr(zipimport, "_compile_source", None)


def _compile_once(path: str, source: bytes, *more: object) -> CodeType:
    """Return the code of a module in a zip file. ``path`` begins with that of the zip file, which is another each time."""
    import hashlib  # noqa: PLC0415 - see above

    digest = hashlib.sha256(path.rpartition("/")[2].encode() + source).hexdigest()
    kept = f"{FOLDER}/{digest}"
    try:
        with open(kept, "rb") as file:  # noqa: PTH123 - see above
            code: CodeType = marshal.load(file)  # noqa: S302 - written below, by the same user
    except (OSError, EOFError, ValueError, TypeError):
        code = _compile(path, source, *more)  # type: ignore[misc]
        _keep(kept, marshal.dumps(code))
    return code


def _keep(path: str, content: bytes) -> None:
    """Write the file whole or not at all: others read it at the same time. Where it cannot be written, tests are only slower."""
    new = f"{path}.{os.getpid()}"
    try:
        os.makedirs(FOLDER, exist_ok=True)  # noqa: PTH103 - see above
        with open(new, "wb") as file:  # noqa: PTH123
            file.write(content)
        os.replace(new, path)  # noqa: PTH105
    except OSError:
        return


# Many tests start Ansible without the ANSIBLE_ variables of whoever started them.
if _connection := os.environ.get("TESTS_CONNECTION"):
    os.environ.setdefault("ANSIBLE_CONNECTION_PLUGINS", _connection)
if _compile is not None:
    zipimport._compile_source = _compile_once  # type: ignore[attr-defined]
