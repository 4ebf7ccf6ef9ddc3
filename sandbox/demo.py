"""``python -m sandbox demo``: a cluster from install to destroy in a few minutes, with explanations. The first run builds programs before.

Starts a sandbox, copies the example inventory, and then does what a user does: ``ansible-playbook install.yml``, one line of
the inventory edited, ``scale.yml``, another edit, ``scale.yml`` again, ``destroy.yml``. In between an unauthorized client files a CSR.
Ends with a summary, and with a check that nothing is left. All files but the log are in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh
import httpx
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from metal_api.state_folder import StartError, write_private
from sandbox import namespace, qemu
from sandbox.machine_kinds import MachineKinds
from sandbox.serve import enter_for
from sandbox.testing.foreign import UnauthorizedClient
from sandbox.testing.observer import REQUESTS, Names, cluster_api
from sandbox.testing.process import REPOSITORY, RunningSandbox, SandboxStartError, is_write, write_ansible_config

CLUSTER = "demo.metal.test"
ROGUE_NODE = "intruder"
QEMU_PLAN, QEMU_METRO = qemu.PLAN.slug, qemu.METRO
MACHINE_WITHIN, POD_WITHIN = 600, 300
"""Real seconds until the disk of a machine with QEMU has to be clean, and a pod on it to have run."""


class DemoError(Exception):
    """A step failed; the message names the step and what to check."""


@dataclass
class Step:
    """One command of the user."""

    title: str
    command: str = ""
    seconds: float = 0.0
    calls: Counter[str] = field(default_factory=Counter)
    machines: int = 0


def duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60):02d} s"


class Demo:
    """The whole of it. ``run`` returns when everything is shown and cleaned up; errors and Ctrl-C pass through, also cleaned up."""

    def __init__(self, console: Console, *, speed: float, verbose: bool, log: Path, machines: str = "simulated") -> None:
        self.console = console
        self.verbose = verbose
        self.machines = MachineKinds.parse(machines)
        self.log = log
        self.steps: list[Step] = []
        self.folder = Path(tempfile.mkdtemp(prefix="openshift-demo-"))
        self.inventory = self.folder / "inventory"
        self.cluster = self.folder / "clusters" / CLUSTER
        self.sandbox = RunningSandbox(
            self.folder / "state",
            log=log.with_suffix(".sandbox.log"),
            speed=speed,
            machines=machines,
            started=self._building,
        )
        self._child: subprocess.Popen[str] | None = None
        self._certificates: Counter[str] = Counter()

    # --- the story -----------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        with self._cleaned_up():
            self._start()
            self._install()
            if self.machines.firmware:
                self._boot_machine()
            else:
                self._scale("0:4", "worker-[0:1] becomes worker-[0:4]: three workers more", 5)
                self._scale("0:2", "worker-[0:4] becomes worker-[0:2]: two leave, emptied first", 3)
            self._count_certificates()
            self._destroy()
            left = self._leftovers()
        left += self._processes()
        self._summary(left)
        if left:
            raise DemoError("something was left behind: " + "; ".join(left))

    def _start(self) -> None:
        self.explain(
            "0 · A sandbox",
            "A pretend Equinix Metal, on this machine only and without root: its API, machines that boot, a DNS server, and the real etcd, "
            "kube-apiserver and kube-controller-manager. Time in its machines runs faster than yours.",
            "make sandbox              (and in another terminal: source .sandbox/env.sh)",
        )
        step = Step("sandbox")
        with (
            self.timed(step),
            self.console.status("starting (the first time ever it builds programs of Kubernetes, for minutes)"),
        ):
            self.sandbox.start()
        if self.machines.in_namespace:
            namespace.use_name_server(self.folder)
        shutil.copytree(REPOSITORY / "inventory" / "sandbox", self.inventory)
        self._register_key()
        self.console.print(f"  it answers at [bold]{self.sandbox.environment['METAL_API_URL']}[/]\n")

    def _register_key(self) -> None:
        """Give the user an SSH key: a failure bundle has the serial consoles of all machines then."""
        key, file = asyncssh.generate_private_key("ssh-ed25519"), self.folder / "ssh-key"
        write_private(file, key.export_private_key())
        environment = self.sandbox.environment
        httpx.post(
            f"{environment['METAL_API_URL']}/ssh-keys",
            headers={"X-Auth-Token": environment["METAL_AUTH_TOKEN"]},
            json={"label": "demo", "key": key.export_public_key().decode("ascii")},
        ).raise_for_status()
        self._edit("    # metal_console_key: ~/.ssh/id_ed25519\n", f"    metal_console_key: {file}\n    openshift_gather_logs: true\n")

    def _edit(self, old: str, new: str) -> str:
        """Replace a line of the inventory; returns its text before."""
        path = self.inventory / "01-cluster.yml"
        before = path.read_text(encoding="utf-8")
        if old not in before:
            raise DemoError(f"{path.name} has no line {old.strip()!r} to edit")
        path.write_text(before.replace(old, new, 1), encoding="utf-8")
        return before

    def _building(self, line: str) -> None:
        if " INFO " not in line:
            self.console.print(Text(f"  {line}", style="dim"))

    def _install(self) -> None:
        self.explain(
            "1 · Install",
            "The inventory asks for three control plane machines and two workers. The playbook checks everything first, orders the "
            "machines, boots them over the network, and lets a bootstrap machine bring the cluster up, which it then removes. From "
            "there on it approves only certificates of machines it ordered itself. We will test that: an unauthorized client is going "
            "to ask.",
            "ansible-playbook install.yml",
        )
        with self.timed(Step("install", "ansible-playbook install.yml")):
            self._play("install.yml")
        self._file_rogue_request()

    def _file_rogue_request(self) -> None:
        """File a CSR of an unauthorized client, which the next run of scale.yml has to name and to leave alone."""
        environment = self.sandbox.environment
        names = Names(environment["OPENSHIFT_DNS_SERVER"], int(environment["OPENSHIFT_DNS_PORT"]))
        UnauthorizedClient(CLUSTER, self.cluster / "ignition" / "worker.ign", names).file(ROGUE_NODE, f"{ROGUE_NODE}.{CLUSTER}")
        self.console.print(
            f"[yellow]![/] an unauthorized client fetched the bootstrap token and files a CSR for [bold]{ROGUE_NODE}.{CLUSTER}[/]; "
            "the cluster took the request. Will the next run approve it?\n",
            soft_wrap=True,
        )

    def _scale(self, pattern: str, edit: str, workers: int) -> None:
        path = self.inventory / "01-cluster.yml"
        text = path.read_text(encoding="utf-8")
        edited, replaced = re.subn(r"worker-\[0:\d+\]", f"worker-[{pattern}]", text)
        if not replaced:
            raise DemoError(f"{path.name} has no host pattern worker-[0:N] to edit")
        path.write_text(edited, encoding="utf-8")
        number = len(self.steps)
        self.explain(
            f"{number} · Scale to {workers} workers",
            f"One line of inventory/01-cluster.yml is edited: {edit}.",
            "ansible-playbook scale.yml",
        )
        with self.timed(Step(f"scale to {workers}", "ansible-playbook scale.yml")):
            self._play("scale.yml")
        self._expect_nodes(3 + workers)

    def _expect_nodes(self, count: int) -> None:
        nodes = self._api("/api/v1/nodes")["items"]
        ready = [
            node for node in nodes if any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))
        ]
        if len(ready) != count or len(nodes) != len(ready):
            raise DemoError(f"{len(ready)} of {len(nodes)} nodes are ready, {count} were expected")

    def _boot_machine(self) -> None:
        """Add a machine with real firmware as a worker, run a pod on it, and delete it."""
        mark = "        # infra:\n"
        lines = ["boots:", "  hosts:", "    boots-0:", "  vars:", f"    metal_plan: {QEMU_PLAN}"]
        # By default programs write to the screen, and the demo keeps what this serial port shows.
        lines.append("    openshift_consoles: [tty0, 'ttyS0,115200n8']")
        pool = "".join(f"        {line}\n" for line in lines)
        before = self._edit(mark, pool + mark)
        self.explain(
            f"{len(self.steps)} · A machine that boots",
            "A pool of one machine with real firmware is added to inventory/01-cluster.yml: QEMU behind a Redfish BMC that Ironic drives. "
            "Its iPXE runs the collection's boot script, CoreOS' installer writes its disk, Ignition and a real kubelet make it a node. "
            "Then a pod runs on it. Its processor is emulated: this takes some minutes.",
            "ansible-playbook scale.yml",
        )
        with self.timed(Step("add a machine that boots", "ansible-playbook scale.yml")):
            self._until_offered()
            self._play("scale.yml")
            self._expect_nodes(6)
        with self.timed(Step("a pod on it", "")):
            self._run_pod(f"boots-0.{CLUSTER}")
        (self.inventory / "01-cluster.yml").write_text(before, encoding="utf-8")
        self.explain(
            f"{len(self.steps)} · It leaves",
            "The pool is taken out again: the node is emptied and the device deleted. Ironic's agent boots there and cleans the disk. "
            "The last machine of a pool has to be named.",
            "ansible-playbook scale.yml -e openshift_remove=boots-0",
        )
        with self.timed(Step("remove it", "ansible-playbook scale.yml")):
            self._play("scale.yml", "-e", "openshift_remove=boots-0")
            self._expect_nodes(5)
        with self.timed(Step("its disk is cleaned", "")):
            self._until_offered()

    def _until_offered(self) -> None:
        """Wait until the machine can be ordered: its disk is clean then."""
        environment = self.sandbox.environment
        headers = {"X-Auth-Token": environment["METAL_AUTH_TOKEN"]}
        deadline = time.monotonic() + MACHINE_WITHIN
        with self.console.status("waiting until the machine with QEMU can be ordered"):
            while True:
                answer = httpx.get(f"{environment['METAL_API_URL']}/capacity/metros", headers=headers, timeout=30).raise_for_status()
                if answer.json()["capacity"][QEMU_METRO][QEMU_PLAN]["available_servers"]:
                    return
                if time.monotonic() > deadline:
                    raise DemoError(f"the machine with QEMU cannot be ordered after {MACHINE_WITHIN} s: the log of the sandbox has why")
                time.sleep(1)

    def _run_pod(self, node: str) -> None:
        """Run a pod of an image that the machine has, and wait for its output to be there."""
        body = {
            "metadata": {"name": "hello", "namespace": "default"},
            "spec": {
                "nodeName": node,
                "restartPolicy": "Never",
                "automountServiceAccountToken": False,
                "containers": [
                    {
                        "name": "hello",
                        "image": "localhost/busybox:1",
                        "imagePullPolicy": "Never",
                        "command": ["sh", "-c", "echo hello from $(hostname), kernel $(uname -r)"],
                    }
                ],
            },
        }
        pods = "/api/v1/namespaces/default/pods"
        cluster_api(self.cluster / "kubeconfig", pods, "POST", body)
        deadline = time.monotonic() + POD_WITHIN
        with self.console.status("waiting for the pod"):
            while (phase := self._api(f"{pods}/hello")["status"].get("phase")) not in {"Succeeded", "Failed"}:
                if time.monotonic() > deadline:
                    raise DemoError(f"the pod on {node} is {phase} after {POD_WITHIN} s")
                time.sleep(1)
        if phase != "Succeeded":
            raise DemoError(f"the pod on {node} has failed")
        self.console.print(f"  [green]✔[/] a pod ran on [bold]{node}[/]")
        cluster_api(self.cluster / "kubeconfig", f"{pods}/hello", "DELETE")

    def _destroy(self) -> None:
        self.explain(
            f"{len(self.steps)} · Destroy",
            "Everything with this cluster's ownership tag is deleted: devices, DNS records, files. What belongs to others is not touched.",
            "ansible-playbook destroy.yml        (it asks; the answer here is yes)",
        )
        with self.timed(Step("destroy", "ansible-playbook destroy.yml")):
            self._play("destroy.yml", "-e", f"openshift_destroy_confirm={CLUSTER}")

    # --- playbooks -----------------------------------------------------------------------------------------------------------

    def _play(self, playbook: str, *arguments: str) -> None:
        """Run a playbook as a user would, and show what it prints."""
        self.sandbox.forget()
        verbose = ["-v"] if self.verbose else []
        command = ["ansible-playbook", "-i", str(self.inventory), str(REPOSITORY / playbook), *arguments, *verbose]
        environment = {
            **os.environ,
            **self.sandbox.environment,
            "ANSIBLE_CONFIG": str(write_ansible_config(self.folder)),
            "ANSIBLE_FORCE_COLOR" if self.console.is_terminal else "ANSIBLE_NOCOLOR": "1",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        }
        self._child = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # so that Ctrl-C reaches it through us, in order
        )
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"\n$ {' '.join(command)}\n")
            for line in self._child.stdout or ():
                text = Text.from_ansi(line.rstrip())
                log.write(text.plain + "\n")
                self.console.print(text, soft_wrap=True)
        code = self._child.wait()
        self._child = None
        if code != 0:
            raise DemoError(f"{playbook} ended with {code}")

    # --- reading -------------------------------------------------------------------------------------------------------------

    def _api(self, path: str) -> Any:
        return cluster_api(self.cluster / "kubeconfig", path)

    def _count_certificates(self) -> None:
        for request in self._api(REQUESTS)["items"]:
            conditions = {condition["type"] for condition in request.get("status", {}).get("conditions", [])}
            is_rogue = request["metadata"]["name"] == ROGUE_NODE
            if is_rogue and conditions:
                raise DemoError("the CSR of the unauthorized client was decided on: it should have stayed pending")
            # A kubelet that waits for long files another CSR with a new key, and abandons the first one.
            left = "rogue" if is_rogue else "overtaken"
            self._certificates["approved" if "Approved" in conditions else "denied" if "Denied" in conditions else left] += 1

    def _leftovers(self) -> list[str]:
        """Return what still exists after destroy, in the sandbox's inventory and its DNS server."""
        left = []
        for kind, resources in self.sandbox.inventory().items():
            if resources and isinstance(resources, list | dict):
                left.append(f"{kind}: {len(resources)}")
        environment = self.sandbox.environment
        names = Names(environment["OPENSHIFT_DNS_SERVER"], int(environment["OPENSHIFT_DNS_PORT"]))
        hosts = [
            "api",
            "api-int",
            "console.apps",
            "bootstrap",
            *(f"{group}-{n}" for group in ("master", "worker") for n in range(5)),
        ]
        left += [f"DNS record {host}.{CLUSTER}" for host in hosts if names.addresses(f"{host}.{CLUSTER}")]
        return left

    def _processes(self) -> list[str]:
        """Return the processes that name our temporary folder: the sandbox's, a publishing server's, and any others."""
        return [f"process {number}: {command[:80]}" for number, command in processes_of(self.folder)]

    # --- showing -------------------------------------------------------------------------------------------------------------

    def explain(self, title: str, text: str, command: str) -> None:
        body = Group(Text(text), Text(f"\n$ {command}", style="bold green"))
        self.console.print(Panel(body, title=f"[bold]{title}", title_align="left", border_style="blue", width=min(self.console.width, 110)))

    @contextmanager
    def timed(self, step: Step) -> Iterator[Step]:
        self.steps.append(step)
        started = time.monotonic()
        yield step
        step.seconds = time.monotonic() - started
        if step.command:
            for request in self.sandbox.journal():
                step.calls["write" if is_write(request) else "read"] += 1
            step.machines = len(self.sandbox.inventory().get("devices", []))
            self.console.print(f"  [bold]{step.title}: {duration(step.seconds)}[/], {step.machines} machines now\n")

    def _summary(self, left: list[str]) -> None:
        table = Table(title="Summary", title_justify="left")
        table.add_column("step", no_wrap=True)
        for name in ("took", "machines", "API reads", "writes"):
            table.add_column(name, justify="right", no_wrap=True)
        for step in self.steps:
            counts = [str(step.machines), str(step.calls["read"]), str(step.calls["write"])] if step.command else ["", "", ""]
            table.add_row(step.title, duration(step.seconds), *counts)
        self.console.print(table)
        kept = self._certificates
        overtaken = f", {kept['overtaken']} left behind by machines that asked again" if kept["overtaken"] else ""
        self.console.print(
            f"Certificates: {kept['approved']} approved for machines of the inventory, {kept['rogue']} of the unauthorized client "
            f"refused and left pending{overtaken}, {kept['denied']} denied.",
            soft_wrap=True,
        )
        total = sum(step.seconds for step in self.steps)
        nothing = "no machine, reservation, VLAN, DNS record, published file or process"
        self.console.print(f"Left behind: {'; '.join(left) if left else nothing}.", soft_wrap=True)
        self.console.print(f"Took {duration(total)}. The whole output is in [bold]{self.log}[/].", soft_wrap=True)

    # --- the end, whichever ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _cleaned_up(self) -> Iterator[None]:
        try:
            yield
        finally:
            with uninterrupted():
                if self._child is not None and self._child.poll() is None:
                    self.console.print("stopping the playbook and the sandbox ...")
                    stop_group(self._child)
                self.sandbox.stop()
                failed = sys.exc_info()[0] is not None
                if failed:
                    self._keep_logs()
                    for number, _command in processes_of(self.folder):
                        os.kill(number, signal.SIGTERM)
                shutil.rmtree(self.folder, ignore_errors=True)

    def _keep_logs(self) -> None:
        """Copy failure bundles, consoles and Ironic's log beside the log of the demo: the folder is removed."""
        folder = self.folder / "state" / "qemu"
        for file in (*folder.glob("rack/*/console.log"), *folder.glob("ironic/ironic.log")):
            shutil.copyfile(file, self.log.with_suffix(f".{file.parent.name}-{file.name}"))
        for bundle in self.cluster.parent.glob(f"{CLUSTER}-failed-*.tar.gz"):
            kept = self.log.with_suffix(f".{bundle.name}")
            shutil.copyfile(bundle, kept)
            kept.chmod(0o600)
            self.console.print(f"The failure bundle, with the serial consoles of the machines: [bold]{kept}[/]", soft_wrap=True)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C inside, so that a second one does not interrupt the clean-up."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def stop_group(process: subprocess.Popen[str], patience: float = 10.0) -> None:
    """Send Ctrl-C to a child in a session of its own, and kill the session if it does not end in time."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def processes_of(folder: Path) -> list[tuple[int, str]]:
    """Return the processes that work in ``folder`` (the demo's own), or whose command line names it: id and command line."""
    processes = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            place = (path / "cwd").readlink()
        except OSError:
            continue  # it ended meanwhile, or belongs to another user
        if str(folder) in command or place.is_relative_to(folder):
            processes.append((int(path.name), command))
    return processes


def _machines(text: str) -> str:
    try:
        MachineKinds.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sandbox demo", description="A cluster's life in a few minutes, in the sandbox.")
    parser.add_argument("--speed", type=float, default=120.0, help="simulated seconds per second in the machines (default %(default)g)")
    parser.add_argument(
        "--machines",
        type=_machines,
        default="simulated",
        metavar="KIND",
        help="container: nodes are systemd containers; qemu or qemu:uefi: one worker is a machine that boots, with QEMU",
    )
    parser.add_argument("--verbose", action="store_true", help="show every task of the playbooks")
    parser.add_argument(
        "--log",
        type=Path,
        default=REPOSITORY / ".cache" / "demo" / f"{time.strftime('%Y-%m-%d-%H%M%S')}.log",
        help="where all output is kept",
    )
    chosen = parser.parse_args(arguments)
    kinds = MachineKinds.parse(chosen.machines)
    if kinds.in_namespace:
        try:
            enter_for("sandbox", ["demo", *(sys.argv[2:] if arguments is None else arguments)], kinds)
        except StartError as error:
            print(f"demo: {error}", file=sys.stderr)
            return 1
        # The bridge has to be there before the playbooks ask for its address.
        namespace.set_up()
    console = Console(highlight=False)
    chosen.log.parent.mkdir(parents=True, exist_ok=True)
    # A closed terminal or a time limit ends the demo as Ctrl-C does: with the clean-up.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        Demo(console, speed=chosen.speed, verbose=chosen.verbose, log=chosen.log, machines=chosen.machines).run()
    except KeyboardInterrupt:
        console.print("\nInterrupted. Everything the demo started is stopped and removed.")
        return 130
    except (DemoError, SandboxStartError, httpx.HTTPError) as error:
        console.print(f"\n[bold red]The demo failed:[/] {error}\nAll output is in {chosen.log}", soft_wrap=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
