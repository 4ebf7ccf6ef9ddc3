# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""iPXE's boot scripts: with the strictness of the real interpreter, and errors for commands that are not simulated.

Follows iPXE's own source: `src/image/script.c` (first line, labels, continuation lines, what ends a script),
`src/core/exec.c` (tokens are split before settings are expanded, so a value never becomes two arguments; ``||``, ``&&``, ``;``
and ``#`` count only as tokens of their own) and `src/hci/commands/`. There is no quoting in iPXE.
"""

from __future__ import annotations

import asyncio
import posixpath
import re
import urllib.parse
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

import httpx

from sandbox.clock import Clock

CHAIN_DEPTH = 16
REDIRECTS = 10
USER_AGENT = "iPXE/1.0.255"
"""Boots identified its own build by patch version 255."""


class Fetch(Protocol):
    """How the interpreter reaches the network. Raises ``httpx.TransportError``."""

    async def __call__(self, method: str, url: str, *, headers: dict[str, str], content: bytes | None) -> httpx.Response: ...


@dataclass
class Image:
    """A file iPXE holds in memory."""

    name: str
    url: str
    data: bytes
    arguments: str = ""

    @property
    def is_script(self) -> bool:
        return self.data[:6] in (b"#!ipxe", b"#!gpxe") and self.data[6:7].isspace()


@dataclass(frozen=True)
class Boot:
    """A kernel was started; ``initrds`` are all other files in memory, in the order they were fetched."""

    kernel: Image
    initrds: tuple[Image, ...]


@dataclass(frozen=True)
class Returned:
    """iPXE returned control to the firmware, which tries its next boot device. ``error`` is empty after a clean end."""

    error: str


@dataclass(frozen=True)
class Waiting:
    """A shell or a prompt: waits forever for a user at the console."""

    reason: str


@dataclass(frozen=True)
class PowerCycle:
    """The script requested a reboot, or power off."""

    off: bool


Outcome = Boot | Returned | Waiting | PowerCycle


class CommandError(Exception):
    """A command failed; the message is what iPXE prints."""


class _Left(BaseException):
    """Leaves every script at once: there is no way back from a started kernel."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


@dataclass
class _Script:
    """One running script: its lines with labels, where it is, and what relative addresses start from."""

    image: Image
    lines: list[tuple[str | None, str]]
    at: int = 0
    stopped: bool = False
    jumped: bool = False
    replacement: Image | None = None


Handler = Callable[["Interpreter", list[str]], Awaitable[None]]


@dataclass
class Interpreter:
    """Runs boot scripts for one machine.

    ``settings`` are the variables a script can read (``net0/mac``, ``hostname``, ``buildarch`` ...); ``interfaces`` the names that exist,
    the first has a cable with DHCP. ``is_kernel``: whether the firmware can start a file. ``say`` gets each console line.
    """

    settings: dict[str, str]
    interfaces: tuple[str, ...]
    fetch: Fetch
    clock: Clock
    say: Callable[[str], None]
    is_kernel: Callable[[bytes], bool]
    images: list[Image] = field(default_factory=list)
    _selected: Image | None = None
    _parameters: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    _scripts: list[_Script] = field(default_factory=list)
    _jumps: int = 0

    async def run(self, script: bytes, url: str) -> Outcome:
        """Run ``script`` as if it had been fetched from ``url``."""
        image = Image(name=_basename(url), url=url, data=script)
        try:
            await self._execute(image)
        except CommandError as error:
            self.say(f"Could not boot: {error}")
            return Returned(str(error))
        except _Left as left:
            return left.outcome
        return Returned("")

    # -- scripts

    async def _run_script(self, image: Image) -> None:
        if len(self._scripts) >= CHAIN_DEPTH:
            raise CommandError("Out of memory: scripts are chained too deep")
        script = _Script(image, split_script(image.data))
        self._scripts.append(script)
        try:
            while script.at < len(script.lines) and not script.stopped:
                _unused, command = script.lines[script.at]
                script.at += 1
                await self._run_line(command, script)
        finally:
            self._scripts.pop()
        if script.replacement is not None:
            await self._execute(script.replacement)

    async def _run_line(self, line: str, script: _Script) -> None:
        """One line: commands joined by ``||``, ``&&`` and ``;``. Raises :class:`CommandError` of the last one that ran."""
        tokens: list[str] = line.split()
        failure: CommandError | None = None
        process = True
        while True:
            length = next((i for i, token in enumerate(tokens) if token[0] == "#" or token in ("||", "&&", ";")), len(tokens))
            ended_by = tokens[length] if length < len(tokens) else ""
            if process:
                failure = None
                try:
                    await self._execute_command([self._expand(token) for token in tokens[:length]])
                except CommandError as error:
                    failure = error
            if script.jumped or script.stopped:
                script.jumped = False
                break
            if ended_by not in ("||", "&&", ";"):
                break
            process = {"||": failure is not None, "&&": failure is None, ";": True}[ended_by]
            tokens = tokens[length + 1 :]
        if failure is not None:
            raise failure

    async def _execute_command(self, argv: list[str]) -> None:
        if not argv:
            return
        handler = COMMANDS.get(argv[0])
        if handler is None:
            self.say(f"{argv[0]}: command not found")
            raise CommandError("Exec format error")
        await handler(self, argv)

    def _expand(self, token: str) -> str:
        """Replace ``${name}``, innermost first; an unknown setting is empty, an unfinished one is not replaced."""
        while True:
            match = re.search(r"\$\{((?:(?!\$\{)[^}])*)\}", token)
            if match is None:
                return token
            token = token[: match.start()] + self._setting(match.group(1)) + token[match.end() :]

    def _setting(self, text: str) -> str:
        name, _unused, kind = text.partition(":")
        value = self.settings.get(_canonical(name), "")
        if kind == "hexhyp":
            return value.replace(":", "-")
        if kind == "hexraw":
            return value.replace(":", "")
        if kind == "uristring":
            return urllib.parse.quote(value, safe="")
        return value

    # -- images

    async def _download(self, url: str, *, name: str = "", arguments: str = "") -> Image:
        """Fetch ``url``, relative to the running script, POSTing parameters when it ends in ``##params``."""
        base = self._scripts[-1].image.url if self._scripts else ""
        full, _sign, fragment = urllib.parse.urljoin(base, url).partition("#")
        if "://" not in full:
            raise CommandError("Operation not supported")
        content, headers = None, {"user-agent": USER_AGENT}
        if fragment.startswith("#params"):
            parameters = fragment.removeprefix("#params").removeprefix("=")
            content = urllib.parse.urlencode(self._parameters.pop(parameters, [])).encode()
            headers["content-type"] = "application/x-www-form-urlencoded"
        self.say(f"{full}...")
        for _unused in range(REDIRECTS):
            method = "GET" if content is None else "POST"
            try:
                response = await self.fetch(method, full, headers=headers, content=content)
            except httpx.TransportError as error:
                self.say(f"{full}... {transport_text(error)}")
                raise CommandError(transport_text(error)) from error
            if response.is_redirect:
                full, content = urllib.parse.urljoin(full, response.headers["location"]), None
                continue
            if not response.is_success:
                text = status_text(response.status_code)
                self.say(f"{full}... {text}")
                raise CommandError(text)
            self.say(f"{full}... ok")
            return Image(name=name or _basename(full), url=full, data=response.content, arguments=arguments)
        raise CommandError("Too many redirections")

    def _register(self, image: Image) -> Image:
        self.images.append(image)
        return image

    def _image(self, name: str) -> Image | None:
        return next((image for image in self.images if image.name == name), None)

    async def _execute(self, image: Image) -> None:
        if image.is_script:
            await self._run_script(image)
        elif self.is_kernel(image.data):
            others = tuple(other for other in self.images if other is not image and other.data and not other.is_script)
            raise _Left(Boot(image, others))
        else:
            raise CommandError("Exec format error")

    # -- commands: what the scripts of installations use, and refusals for the rest

    async def do_echo(self, argv: list[str]) -> None:
        _unused, words = _options(argv, flags=("-n",), least=0)
        self.say(" ".join(words))

    async def do_set(self, argv: list[str]) -> None:
        _unused, (name, *value) = _options(argv, least=1)
        if value and "".join(value):
            self.settings[_canonical(name)] = " ".join(value)
        else:
            self.settings.pop(_canonical(name), None)

    async def do_clear(self, argv: list[str]) -> None:
        _unused, (name,) = _options(argv, least=1, most=1)
        self.settings.pop(_canonical(name), None)

    async def do_show(self, argv: list[str]) -> None:
        _unused, (name,) = _options(argv, least=1, most=1)
        if _canonical(name) not in self.settings:
            self._refuse(f'Could not find "{name}"', "No such file or directory")
        self.say(f"{name} = {self._setting(name)}")

    async def do_inc(self, argv: list[str]) -> None:
        _unused, (name, *amount) = _options(argv, least=1, most=2)
        try:
            self.settings[_canonical(name)] = str(int(self._setting(name) or "0", 0) + int(amount[0] if amount else "1", 0))
        except ValueError:
            raise CommandError("Invalid argument") from None

    async def do_isset(self, argv: list[str]) -> None:
        _unused, (value,) = _options(argv, least=1, most=1)
        if not value:
            raise CommandError("No such file or directory")

    async def do_iseq(self, argv: list[str]) -> None:
        _unused, (value, other) = _options(argv, least=2, most=2)
        if value != other:
            raise CommandError("Result too large")

    async def do_sleep(self, argv: list[str]) -> None:
        _unused, (seconds,) = _options(argv, least=1, most=1)
        if not seconds.isdecimal():
            self._refuse(f'"{seconds}": invalid integer value', "Invalid argument")
        await self.clock.sleep(int(seconds))

    async def do_goto(self, argv: list[str]) -> None:
        _switches, (label,) = _options(argv, least=1, most=1)
        script = self._scripts[-1]
        for number, (name, _unused) in enumerate(script.lines):
            if name == label:
                script.at, script.jumped = number, True
                # A loop that waits for the network is right in a script; here it must not take the processor.
                self._jumps += 1
                await self.clock.sleep(0.1)
                await asyncio.sleep(0.05 if self._jumps > 50 else 0)
                return
        self._refuse(f"No such label :{label}", "No such file or directory")

    async def do_exit(self, argv: list[str]) -> None:
        _unused, status = _options(argv, most=1)
        self._scripts[-1].stopped = True
        if status and status[0] not in ("", "0"):
            raise CommandError(f"Exit status {status[0]}")

    async def do_shell(self, argv: list[str]) -> None:
        _options(argv, most=0)
        self.say("iPXE>")
        raise _Left(Waiting("the boot script dropped to the iPXE shell, which waits for a user at the console"))

    async def do_prompt(self, argv: list[str]) -> None:
        options, text = _options(argv, values=("--key", "-k", "--timeout", "-t", "--set", "-s"))
        self.say(" ".join(text))
        wait = options.get("--timeout") or options.get("-t")
        if wait is None:
            raise _Left(Waiting("the boot script waits for a key at the console"))
        await self.clock.sleep(int(wait) / 1000 if wait.isdecimal() else 0)
        raise CommandError("Connection timed out")

    async def do_reboot(self, argv: list[str]) -> None:
        _options(argv, flags=("--warm", "-w"), most=0)
        raise _Left(PowerCycle(off=False))

    async def do_poweroff(self, argv: list[str]) -> None:
        _options(argv, most=0)
        raise _Left(PowerCycle(off=True))

    async def do_interface(self, argv: list[str]) -> None:
        """``ifopen``, ``ifclose``, ``ifstat``, ``iflinkwait``: every interface has a cable, and nothing else is simulated."""
        _unused, names = _options(argv, values=("--timeout", "-t"))
        for name in names or self.interfaces:
            self._interface(name)
            if argv[0] == "ifstat":
                self.say(f"{name}: {self.settings.get(f'{name}/mac', '')} (open) [Link:up]")

    async def do_dhcp(self, argv: list[str]) -> None:
        """Only the first port of a device is answered (public IPv4); the others get nothing."""
        _unused, names = _options(argv, values=("--configurator", "-c", "--timeout", "-t"))
        tried = names or list(self.interfaces)
        for name in tried:
            self._interface(name)
            self.say(
                f"Configuring ({name} {self.settings.get(f'{name}/mac', '')})...... {'ok' if name == self.interfaces[0] else ''}".rstrip()
            )
            if name == self.interfaces[0]:
                await self.clock.sleep(3)
                return
            await self.clock.sleep(60)
        self._refuse("No configuration methods succeeded", "No configuration methods succeeded")

    async def do_params(self, argv: list[str]) -> None:
        options, _unused = _options(argv, values=("--name", "-n"), flags=("--delete", "-d"), most=0)
        name = options.get("--name") or options.get("-n") or ""
        self._parameters.pop(name, None)
        if "--delete" not in options and "-d" not in options:
            self._parameters[name] = []

    async def do_param(self, argv: list[str]) -> None:
        options, (key, *value) = _options(argv, values=("--params", "-p"), flags=("--header", "-H"), least=1)
        name = options.get("--params") or options.get("-p") or ""
        if name not in self._parameters:
            self._refuse(f'No such parameter list "{name}"', "No such file or directory")
        self._parameters[name].append((key, " ".join(value)))

    async def do_imgfetch(self, argv: list[str]) -> None:
        """Also ``initrd`` and ``module``."""
        options, (url, *arguments) = _options(argv, values=("--name", "-n", "--timeout", "-t"), flags=("--autofree", "-a"), least=1)
        name = options.get("--name") or options.get("-n") or ""
        self._register(await self._download(url, name=name, arguments=" ".join(arguments)))

    async def do_kernel(self, argv: list[str]) -> None:
        """Also ``imgselect``: fetch unless it is there, and make it what ``boot`` starts."""
        image = await self._acquire(argv)
        if not (image.is_script or self.is_kernel(image.data)):
            self.images.remove(image)
            self._refuse(f"Could not select: Exec format error ({image.url})", "Exec format error")
        self._selected = image

    async def do_chain(self, argv: list[str]) -> None:
        """Also ``boot`` and ``imgexec``."""
        if argv[0] in ("boot", "imgexec") and not [word for word in argv[1:] if not word.startswith("-")]:
            image = self._selected
            if image is None or image not in self.images:
                self._refuse("No executable image selected (no kernel was loaded)", "No such file or directory")
        else:
            image = await self._acquire(argv)
        options, _unused = _options(argv, values=("--name", "-n", "--timeout", "-t"), flags=("--autofree", "-a", "--replace", "-r"))
        if {"--autofree", "-a"} & options.keys() and image in self.images:
            self.images.remove(image)
        if {"--replace", "-r"} & options.keys() and self._scripts:
            if not image.is_script and not self.is_kernel(image.data):
                self._refuse(f"Could not boot: Exec format error ({image.url})", "Exec format error")
            self._scripts[-1].replacement, self._scripts[-1].stopped = image, True
            return
        try:
            await self._execute(image)
        except CommandError as error:
            self.say(f"Could not boot: {error}")
            raise

    async def do_imgargs(self, argv: list[str]) -> None:
        _unused, (name, *arguments) = _options(argv, least=1)
        self._known(name).arguments = " ".join(arguments)

    async def do_imgfree(self, argv: list[str]) -> None:
        _unused, names = _options(argv, most=1)
        gone = [self._known(names[0])] if names else list(self.images)
        self.images = [image for image in self.images if image not in gone]

    async def do_imgstat(self, argv: list[str]) -> None:
        _options(argv, most=0)
        for image in self.images:
            self.say(f"{image.name} : {len(image.data)} bytes{' [SELECTED]' if image is self._selected else ''}")

    async def do_nothing(self, argv: list[str]) -> None:
        """``ntp``, ``route``, ``console``, ``cpuid`` ...: ignored with any arguments."""

    async def do_refuse(self, argv: list[str]) -> None:
        """A command of iPXE's that needs hardware, a person or a signature this sandbox does not have."""
        self._refuse(f"{argv[0]}: iPXE has this command, the sandbox does not play it", "Operation not supported")

    async def _acquire(self, argv: list[str]) -> Image:
        options, (target, *arguments) = _options(
            argv, values=("--name", "-n", "--timeout", "-t"), flags=("--autofree", "-a", "--replace", "-r"), least=1
        )
        image = self._image(target)
        if image is None:
            image = self._register(await self._download(target, name=options.get("--name") or options.get("-n") or ""))
        if arguments:
            image.arguments = " ".join(arguments)
        return image

    def _known(self, name: str) -> Image:
        image = self._image(name)
        if image is None:
            self._refuse(f"{name}: No such image", "No such file or directory")
        return image

    def _interface(self, name: str) -> None:
        if name not in self.interfaces:
            self._refuse(f'"{name}": no such network device', "No such device")

    def _refuse(self, line: str, error: str) -> NoReturn:
        self.say(line)
        raise CommandError(error)


def split_script(data: bytes) -> list[tuple[str | None, str]]:
    """Lines as ``(label, command)``: continuation lines joined, carriage returns dropped."""
    lines: list[tuple[str | None, str]] = []
    pending = ""
    for fragment in data.decode("utf-8", "replace").split("\n"):
        text = pending + fragment.removesuffix("\r")
        if text.endswith("\\"):
            pending = text[:-1]
            continue
        pending = ""
        text = text.lstrip()
        if text.startswith(":"):
            label, _unused, command = text[1:].partition(" ")
            lines.append((label.strip(), command))
        else:
            lines.append((None, text))
    return lines


def status_text(status: int) -> str:
    """What iPXE prints for an HTTP status that is no success (`src/net/tcp/httpcore.c`)."""
    if status in (401, 403):
        return f"Permission denied (HTTP {status})"
    if status == 404:
        return "No such file or directory (HTTP 404)"
    return f"Input/output error (HTTP {status})"


def transport_text(error: httpx.TransportError) -> str:
    """What iPXE prints for a connection that failed, with the cause in brackets."""
    if isinstance(error, httpx.TimeoutException):
        return "Connection timed out"
    if isinstance(error, httpx.UnsupportedProtocol):
        return "Operation not supported"
    text = str(error)
    if "no address for" in text:
        return f"No such DNS name ({text})"
    if "certificate" in text.lower() or "ssl" in text.lower():
        return f"Permission denied (untrusted certificate: {text})"
    return f"Connection refused ({text})" if isinstance(error, httpx.ConnectError) else f"Input/output error ({text})"


def _options(
    argv: list[str], *, flags: tuple[str, ...] = (), values: tuple[str, ...] = (), least: int = 0, most: int | None = None
) -> tuple[dict[str, str], list[str]]:
    """Options before the arguments, as iPXE's getopt reads them; the wrong number of arguments is an error."""
    options: dict[str, str] = {}
    arguments = argv[1:]
    while arguments and arguments[0].startswith("-") and len(arguments[0]) > 1:
        option = arguments.pop(0)
        if option == "--":
            break
        name, equals, value = option.partition("=")
        if name in flags:
            options[name] = "yes"
        elif name in values and (equals or arguments):
            options[name] = value if equals else arguments.pop(0)
        else:
            raise CommandError(f"Invalid argument ({argv[0]}: unrecognised option {option})")
    if len(arguments) < least or (most is not None and len(arguments) > most):
        raise CommandError(f"Invalid argument (usage of {argv[0]}: {len(arguments)} arguments given)")
    return options, arguments


def _canonical(name: str) -> str:
    """``net0/mac`` and ``netX/mac`` are one while there is one configured interface; ``mac`` alone means that one too."""
    return name.replace("netX/", "net0/")


def _basename(url: str) -> str:
    return posixpath.basename(urllib.parse.urlsplit(url).path)


COMMANDS: dict[str, Handler] = {
    "boot": Interpreter.do_chain,
    "chain": Interpreter.do_chain,
    "clear": Interpreter.do_clear,
    "dhcp": Interpreter.do_dhcp,
    "echo": Interpreter.do_echo,
    "exit": Interpreter.do_exit,
    "goto": Interpreter.do_goto,
    "ifclose": Interpreter.do_interface,
    "ifconf": Interpreter.do_dhcp,
    "iflinkwait": Interpreter.do_interface,
    "ifopen": Interpreter.do_interface,
    "ifstat": Interpreter.do_interface,
    "imgargs": Interpreter.do_imgargs,
    "imgexec": Interpreter.do_chain,
    "imgfetch": Interpreter.do_imgfetch,
    "imgfree": Interpreter.do_imgfree,
    "imgselect": Interpreter.do_kernel,
    "imgstat": Interpreter.do_imgstat,
    "inc": Interpreter.do_inc,
    "initrd": Interpreter.do_imgfetch,
    "iseq": Interpreter.do_iseq,
    "isset": Interpreter.do_isset,
    "kernel": Interpreter.do_kernel,
    "module": Interpreter.do_imgfetch,
    "param": Interpreter.do_param,
    "params": Interpreter.do_params,
    "poweroff": Interpreter.do_poweroff,
    "prompt": Interpreter.do_prompt,
    "reboot": Interpreter.do_reboot,
    "set": Interpreter.do_set,
    "shell": Interpreter.do_shell,
    "show": Interpreter.do_show,
    "sleep": Interpreter.do_sleep,
    **dict.fromkeys(("console", "cpuid", "ntp", "route", "sync"), Interpreter.do_nothing),
    **dict.fromkeys(
        (
            *("autoboot", "choose", "config", "imgdecrypt", "imgextract", "imgmem", "imgtrust", "imgverify", "item", "login", "menu"),
            *("nslookup", "read", "sanboot", "sanhook", "sanunhook", "time", "vcreate", "vdestroy"),
        ),
        Interpreter.do_refuse,
    ),
}
