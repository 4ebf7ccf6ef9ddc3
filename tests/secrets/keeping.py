"""Everything that keeps what a run of Ansible shows: callbacks that write files, a system log, Ansible's own log, and one that spies."""

import base64
import json
import socket
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

HERE = Path(__file__).parent
BESIDE = ("spy", "ansible.builtin.junit", "ansible.builtin.tree", "community.general.log_plays", "community.general.syslog_json")
"""Callbacks that run beside the one that writes to standard output."""


@dataclass(frozen=True)
class Keeper:
    """What is kept of the runs that have this environment."""

    folder: Path
    environment: Mapping[str, str]

    @property
    def kept(self) -> dict[str, str]:
        """Each file that was written, by its name below the folder."""
        return {
            str(path.relative_to(self.folder)): path.read_text(encoding="utf-8", errors="replace")
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }

    def revealed(self, secrets: Mapping[str, str], *others: str) -> list[str]:
        """Where one of these secrets stands, in what was kept or in other texts. Fails when nothing was kept."""
        texts = {**self.kept, **{f"text {number}": text for number, text in enumerate(others, 1)}}
        assert texts["spy"].count("\n") > 5, "the spy has seen nothing"
        return [
            f"{name} in {where}: ...{text[max(0, place - 200) : place + 40]}"
            for where, text in texts.items()
            for name, secret in secrets.items()
            for form in spellings(secret)
            if (place := text.find(form)) >= 0
        ]


def spellings(secret: str) -> set[str]:
    """As a log may write it: as it is, in JSON, in Python, in an address, and in base64."""
    return {
        secret,
        json.dumps(secret)[1:-1],
        repr(secret)[1:-1],
        urllib.parse.quote(secret, safe=""),
        base64.b64encode(secret.encode()).decode().rstrip("="),
    }


@contextmanager
def keeping(folder: Path) -> Iterator[Keeper]:
    """An environment for Ansible in which everything that is shown is kept below ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as log:
        log.bind(("127.0.0.1", 0))
        log.settimeout(0.1)
        open_ = [True]

        def write() -> None:
            with (folder / "syslog").open("ab") as stream:
                while open_:
                    with suppress(TimeoutError):
                        stream.write(log.recv(1 << 16) + b"\n")
                        stream.flush()

        thread = Thread(target=write)
        thread.start()
        try:
            yield Keeper(
                folder,
                {
                    "ANSIBLE_CALLBACKS_ENABLED": ",".join(BESIDE),
                    "ANSIBLE_CALLBACK_PLUGINS": str(HERE / "callback_plugins"),
                    "ANSIBLE_CALLBACK_TREE_DIR": str(folder / "tree"),
                    "ANSIBLE_LOG_FOLDER": str(folder / "log_plays"),
                    "ANSIBLE_LOG_PATH": str(folder / "ansible.log"),
                    "JUNIT_OUTPUT_DIR": str(folder / "junit"),
                    "SPY_FILE": str(folder / "spy"),
                    "SYSLOG_SERVER": "127.0.0.1",
                    "SYSLOG_PORT": str(log.getsockname()[1]),
                },
            )
        finally:
            open_.clear()
            thread.join()
