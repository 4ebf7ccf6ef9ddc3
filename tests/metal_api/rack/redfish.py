"""BMCs with Redfish and credentials, whose systems can be inspected: what Ironic reads of processors, memory, drives and network cards."""

import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ROOT = "/redfish/v1"


@dataclass
class System:
    """The hardware of one server. ``threads``: of its processor, 0 if the BMC does not report it. ``disks``: sizes in bytes."""

    macs: tuple[str, ...]
    memory_gib: int = 32
    threads: int = 16
    disks: tuple[int, ...] = (480_103_981_056, 480_103_981_056)
    power: str = "Off"
    is_arm: bool = False
    has_secure_boot: bool = False


@dataclass
class RedfishService:
    """``requests``: each one that was made, as method and path. ``credentials``: user and password of the BMC."""

    url: str
    systems: dict[str, System]
    credentials: tuple[str, str] = ("metal", "secret")
    requests: list[tuple[str, str]] = field(default_factory=list)

    @property
    def changes(self) -> list[tuple[str, str]]:
        """The requests that change a system: none means that no power state was changed."""
        return [each for each in self.requests if each[0] != "GET" and not each[1].endswith("/Sessions")]

    def authorizes(self, header: str) -> bool:
        return header == "Basic " + base64.b64encode(":".join(self.credentials).encode()).decode()

    def read(self, path: str) -> dict[str, Any] | None:
        """Return a resource, None if there is none."""
        parts = path.removeprefix(ROOT).strip("/").split("/")
        if parts == [""]:
            links = {"Systems": {"@odata.id": f"{ROOT}/Systems"}}
            return {"Id": "root", "Name": "root", "RedfishVersion": "1.6.0", "UUID": "92384634-2938-2342-8820-489239905423", **links}
        if parts[0] != "Systems":
            return None
        if len(parts) == 1:
            return _collection(f"{ROOT}/Systems", list(self.systems))
        system = self.systems.get(parts[1])
        return None if system is None else _of_system(f"{ROOT}/Systems/{parts[1]}", parts[1], system, parts[2:])


def _collection(path: str, names: list[str]) -> dict[str, Any]:
    members = [{"@odata.id": f"{path}/{each}"} for each in names]
    return {"@odata.id": path, "Name": path, "Members": members, "Members@odata.count": len(members)}


def _of_system(path: str, name: str, system: System, parts: list[str]) -> dict[str, Any] | None:  # noqa: PLR0911 - one for each resource
    good = {"State": "Enabled", "Health": "OK"}
    match parts:
        case []:
            names = ["EthernetInterfaces", "SimpleStorage", "SecureBoot", *(["Processors"] if system.threads else [])]
            links = {each: {"@odata.id": f"{path}/{each}"} for each in names}
            action = {"target": f"{path}/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": ["On", "ForceOff"]}
            return {
                "@odata.id": path,
                "Id": name,
                "Name": name,
                "UUID": f"5f6e9a00-0000-4000-8000-{name:0>12}",
                "PowerState": system.power,
                "Status": good,
                "MemorySummary": {"TotalSystemMemoryGiB": system.memory_gib, "Status": good},
                **links,
                "Boot": {"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None", "BootSourceOverrideMode": "UEFI"},
                "Actions": {"#ComputerSystem.Reset": action},
            }
        case ["Processors"]:
            return _collection(f"{path}/Processors", ["cpu0"])
        case ["Processors", "cpu0"]:
            identity = {"@odata.id": f"{path}/Processors/cpu0", "Id": "cpu0", "Name": "cpu0", "Socket": "0", "ProcessorType": "CPU"}
            sets = ("ARM", "ARM-A64") if system.is_arm else ("x86", "x86-64")
            kind = {"ProcessorArchitecture": sets[0], "InstructionSet": sets[1], "Model": "Xeon", "MaxSpeedMHz": 3400}
            return {**identity, **kind, "TotalCores": system.threads // 2, "TotalThreads": system.threads, "Status": good}
        case ["SecureBoot"]:
            current = "Enabled" if system.has_secure_boot else "Disabled"
            identity = {"@odata.id": f"{path}/SecureBoot", "Id": "SecureBoot", "Name": "SecureBoot", "SecureBootMode": "UserMode"}
            return {**identity, "SecureBootEnable": system.has_secure_boot, "SecureBootCurrentBoot": current}
        case ["EthernetInterfaces"]:
            return _collection(f"{path}/EthernetInterfaces", [f"nic{index}" for index in range(len(system.macs))])
        case ["EthernetInterfaces", nic]:
            mac = system.macs[int(nic.removeprefix("nic"))]
            return {"@odata.id": f"{path}/EthernetInterfaces/{nic}", "Id": nic, "Name": nic, "MACAddress": mac, "Status": good}
        case ["SimpleStorage"]:
            return _collection(f"{path}/SimpleStorage", ["disks"])
        case ["SimpleStorage", "disks"]:
            devices = [{"Name": f"disk{index}", "CapacityBytes": size, "Status": good} for index, size in enumerate(system.disks)]
            return {"@odata.id": f"{path}/SimpleStorage/disks", "Id": "disks", "Name": "disks", "Devices": devices}
    return None


@contextlib.contextmanager
def redfish(systems: dict[str, System]) -> Iterator[RedfishService]:
    """Serve systems by their ids while inside."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(service.read(self.path))

        def do_POST(self) -> None:
            self._answer(None)

        do_PATCH = do_POST  # noqa: N815 - the name of the base class

        def _answer(self, found: dict[str, Any] | None) -> None:
            service.requests.append((self.command, self.path))
            is_root = self.path.rstrip("/") == ROOT
            status = 200 if found is not None else 404
            if not is_root and not service.authorizes(self.headers.get("Authorization", "")):
                status, found = 401, None
            body = json.dumps(found or {"error": {"code": "Base.1.0.GeneralError", "message": "refused"}}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_unused: object) -> None:
            """Requests are in the list."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = RedfishService(f"http://127.0.0.1:{server.server_port}", systems)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
