# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``etcdctl`` in the containers of etcd pods: the commands that replacing a member needs, with their JSON (as of etcd 3.5)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from sandbox.openshift.etcd import Etcd, EtcdMember, MembershipError

_FAILED: Final = 1
_USAGE: Final = 128
_NOT_FOUND: Final = 127


@dataclass(frozen=True)
class Completed:
    """A command that has ended."""

    code: int
    stdout: str = ""
    stderr: str = ""


class _UsageError(Exception):
    """The command line is not one of etcdctl's, or not one that is simulated."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(message)


def run(etcd: Etcd, serving: EtcdMember | None, command: Sequence[str]) -> Completed:
    """Run a command in a container of the pod of the member ``serving``; None: of a pod whose member was removed."""
    if not command or command[0].rpartition("/")[2] != "etcdctl":
        return Completed(_NOT_FOUND, stderr=f"the container has no program {' '.join(command[:1])!r} in this sandbox\n")
    parser = _Parser(prog="etcdctl", add_help=False)
    parser.add_argument("words", nargs="+")
    parser.add_argument("-w", "--write-out", choices=("json",))
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--command-timeout", default="5s")
    try:
        options = parser.parse_intermixed_args(list(command[1:]))
    except _UsageError as error:
        return Completed(_USAGE, stderr=f"Error: {error}\n")
    action = _ACTIONS.get(" ".join(options.words[:2]))
    if action is None or len(options.words) != action.words:
        return Completed(_USAGE, stderr=f'Error: unknown command "{" ".join(options.words)}" for "etcdctl"\n')
    if action.has_json and options.write_out is None:
        return Completed(_USAGE, stderr="Error: etcdctl of this sandbox prints JSON alone: -w json\n")
    if not etcd.has_quorum and action.is_linearizable:
        return Completed(_FAILED, stderr="Error: context deadline exceeded\n")
    return action.run(etcd, serving, options)


def _member_list(etcd: Etcd, serving: EtcdMember | None, _options: argparse.Namespace) -> Completed:
    header = {"cluster_id": etcd.cluster_id, "member_id": serving.id if serving else 0, "raft_term": 7}
    return Completed(0, json.dumps({"header": header, "members": [_as_json(member) for member in etcd]}) + "\n")


def _member_remove(etcd: Etcd, serving: EtcdMember | None, options: argparse.Namespace) -> Completed:
    try:
        member_id = int(options.words[2], 16)
    except ValueError:
        return Completed(_USAGE, stderr=f'Error: bad member ID arg (strconv.ParseUint: parsing "{options.words[2]}": invalid syntax)\n')
    try:
        removed = etcd.remove(member_id, serving)
    except MembershipError as error:
        return Completed(_FAILED, stderr=f"Error: {error}\n")
    return Completed(0, f"Member {removed.hex_id} removed from cluster {etcd.cluster_id:x}\n")


def _endpoint_health(etcd: Etcd, serving: EtcdMember | None, options: argparse.Namespace) -> Completed:
    members = etcd.voting if options.cluster else [member for member in etcd.voting if member is serving]
    healthy = {member.id for member in etcd.healthy} if etcd.has_quorum else set()
    results = [
        {"endpoint": member.client_url, "health": member.id in healthy, "took": "9.871ms" if member.id in healthy else "5.000104s"}
        | ({} if member.id in healthy else {"error": "context deadline exceeded"})
        for member in members
    ]
    failed = "" if all(result["health"] for result in results) else "Error: unhealthy cluster\n"
    return Completed(_FAILED if failed else 0, json.dumps(results) + "\n", failed)


@dataclass(frozen=True)
class _Action:
    run: Callable[[Etcd, EtcdMember | None, argparse.Namespace], Completed]
    words: int
    has_json: bool = True
    is_linearizable: bool = True


_ACTIONS: Final[Mapping[str, _Action]] = {
    "member list": _Action(_member_list, 2),
    "member remove": _Action(_member_remove, 3, has_json=False),
    "endpoint health": _Action(_endpoint_health, 2, is_linearizable=False),
}


def _as_json(member: EtcdMember) -> dict[str, Any]:
    if not member.started:
        return {"ID": member.id, "peerURLs": [member.peer_url], "isLearner": True}
    return {"ID": member.id, "name": member.name, "peerURLs": [member.peer_url], "clientURLs": [member.client_url]}
