"""Boot scripts, good and bad, against the interpreter alone; the network is a dictionary."""

from typing import Any

import httpx
import pytest

from sandbox.clock import Clock
from sandbox.machines.ipxe import Boot, Interpreter, Outcome, PowerCycle, Returned, Waiting

BASE = "http://boot.test/auto.ipxe"
FILES: dict[str, bytes | int] = {
    "http://web.test/kernel": b"KERNEL",
    "http://web.test/initramfs": b"INITRAMFS",
    "http://web.test/next.ipxe": b"#!ipxe\nset chained yes\necho in the next script\n",
    "http://web.test/leaves.ipxe": b"#!ipxe\nexit\necho never\n",
    "http://web.test/fails.ipxe": b"#!ipxe\nexit 3\n",
    "http://web.test/dir/boot.ipxe": b"#!ipxe\nkernel kernel a=b\ninitrd ../initramfs\nboot\n",
    "http://web.test/dir/kernel": b"KERNEL",
    "http://web.test/page.html": b"<html>",
    "http://web.test/broken": 500,
    "http://web.test/form": b"",
}


class Run:
    def __init__(self) -> None:
        self.console: list[str] = []
        self.requests: list[tuple[str, str, bytes | None]] = []
        settings = {"net0/mac": "0c:42:a1:00:00:01", "mac": "0c:42:a1:00:00:01", "hostname": "m0.demo", "buildarch": "x86_64", "empty": ""}
        self.machine = Interpreter(
            settings, ("net0", "net1"), self._fetch, Clock(1e9), self.console.append, lambda data: data.startswith(b"KERNEL")
        )

    async def _fetch(self, method: str, url: str, *, headers: dict[str, str], content: bytes | None) -> httpx.Response:
        self.requests.append((method, url, content))
        if "gone.test" in url:
            raise httpx.ConnectError("no address for gone.test")
        if url == "http://web.test/moved":
            return httpx.Response(302, headers={"location": "/kernel"})
        found = FILES.get(url, 404)
        return httpx.Response(found) if isinstance(found, int) else httpx.Response(200, content=found)

    async def __call__(self, text: str) -> Outcome:
        return await self.machine.run(text.encode(), BASE)

    def setting(self, name: str) -> str:
        return self.machine.settings.get(name, "")


async def boot(text: str) -> Boot:
    outcome = await Run()(text)
    assert isinstance(outcome, Boot), outcome
    return outcome


KERNEL = "kernel http://web.test/kernel "


@pytest.mark.parametrize(
    ("text", "arguments", "initrds"),
    [
        (f"#!ipxe\n{KERNEL}a=b c\ninitrd http://web.test/initramfs\nboot\n", "a=b c", ["initramfs"]),
        (f"#!ipxe\n{KERNEL}a \\\n   b \\\n   c\nboot", "a b c", []),
        (f"#!ipxe\n{KERNEL}x\ninitrd --name main http://web.test/initramfs\nboot\n", "x", ["main"]),
        ("#!ipxe\nimgfetch --name k http://web.test/kernel one\nboot k\n", "one", []),
        ("#!ipxe\nchain http://web.test/dir/boot.ipxe\n", "a=b", ["initramfs"]),
        (f"#!ipxe\n{KERNEL}mac=${{net0/mac}} ${{mac:hexhyp}} ${{net0/mac:hexraw}} ${{nothing}}\nboot\n", None, []),
        (f"#!ipxe\nisset ${{empty}} && goto wrong ||\n{KERNEL}right\nboot\n:wrong\n{KERNEL}wrong\nboot\n", "right", []),
        (f"#!ipxe\niseq ${{buildarch}} x86_64 && goto x86 || goto arm\n:arm\nshell\n:x86\n{KERNEL}x86\nboot\n", "x86", []),
        (f"#!ipxe\ndhcp net0\nifopen net0\nifstat\nntp time.test\nsleep 5\n{KERNEL}ok\nboot\n", "ok", []),
        (f"#!ipxe\nchain http://web.test/leaves.ipxe\n{KERNEL}after\nboot\n", "after", []),
        ("#!gpxe\nchain http://web.test/kernel k\n", "k", []),
    ],
)
async def test_good_scripts_boot(text: str, arguments: str | None, initrds: list[str]) -> None:
    booted = await boot(text)
    if arguments is None:
        assert booted.kernel.arguments.split() == ["mac=0c:42:a1:00:00:01", "0c-42-a1-00-00-01", "0c42a1000001"]
    else:
        assert booted.kernel.arguments.split() == arguments.split()
    assert [image.name for image in booted.initrds] == initrds


@pytest.mark.parametrize(
    ("text", "error", "line"),
    [
        ("echo hello\n", "Exec format error", None),
        ("#!/bin/sh\n", "Exec format error", None),
        ("#!ipxe\nfrobnicate now\n", "Exec format error", "frobnicate: command not found"),
        ("#!ipxe\nkernel http://web.test/none\nboot\n", "No such file or directory (HTTP 404)", None),
        ("#!ipxe\nkernel http://web.test/page.html\n", "Exec format error", "Could not select"),
        ("#!ipxe\nkernel http://gone.test/kernel\n", "No such DNS name", None),
        ("#!ipxe\nboot\n", "No such file or directory", "no kernel was loaded"),
        ("#!ipxe\ngoto nowhere\n", "No such file or directory", "No such label :nowhere"),
        ("#!ipxe\ndhcp net1\n", "No configuration methods succeeded", None),
        ("#!ipxe\nparam key value\n", "No such file or directory", "No such parameter list"),
        ("#!ipxe\nimgverify kernel http://web.test/kernel.sig\n", "Operation not supported", "the sandbox does not play it"),
        ("#!ipxe\nchain http://web.test/page.html\n", "Exec format error", None),
        ("#!ipxe\nprompt --timeout 1000 wait\n", "Connection timed out", None),
    ],
)
async def test_bad_scripts_return_to_the_firmware(text: str, error: str, line: str | None) -> None:
    run = Run()
    outcome = await run(text)
    assert isinstance(outcome, Returned), outcome
    assert error in outcome.error
    if error:
        assert outcome.error
    if line is not None:
        assert any(line in shown for shown in run.console), run.console


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("#!ipxe\nshell\n", Waiting),
        ("#!ipxe\nreboot\n", PowerCycle),
        ("#!ipxe\necho done\n", Returned),
        ("#!ipxe\nexit 0\nfrobnicate\n", Returned),
    ],
)
async def test_other_endings(text: str, outcome: type[Any]) -> None:
    result = await Run()(text)
    assert isinstance(result, outcome)
    if isinstance(result, Returned):
        assert result.error == ""


async def test_parameters_are_posted_as_a_form() -> None:
    run = Run()
    form = "params\nparam body Device & co\nparam type provisioning.104.01\n"
    await run(f"#!ipxe\nset t http://web.test\n{form}imgfetch ${{t}}/form##params\nimgfree\n")
    assert run.requests == [("POST", "http://web.test/form", b"body=Device+%26+co&type=provisioning.104.01")]
    await run("#!ipxe\nparams --name x\nparam --params x a b\nimgfetch http://web.test/form##params=x\n")
    assert run.requests[-1] == ("POST", "http://web.test/form", b"a=b")


async def test_replace_leaves_the_calling_script_and_autofree_forgets_it() -> None:
    run = Run()
    assert await run("#!ipxe\nchain --replace --autofree http://web.test/next.ipxe\necho never\n") == Returned("")
    assert run.setting("chained") == "yes"
    assert "never" not in run.console
    assert run.machine.images == []
    assert await run("#!ipxe\nchain --autofree http://web.test/next.ipxe\necho again\n") == Returned("")
    assert "again" in run.console


async def test_a_chain_without_end_ends() -> None:
    FILES["http://web.test/loop.ipxe"] = b"#!ipxe\nchain loop.ipxe\n"
    outcome = await Run()("#!ipxe\nchain http://web.test/loop.ipxe\n")
    assert isinstance(outcome, Returned)
    assert "too deep" in outcome.error
