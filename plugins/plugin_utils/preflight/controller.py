# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the controller, the cluster folder and its copy, and the cluster that the folder is for."""

from __future__ import annotations

from ...module_utils.base.kubernetes_objects import device_of_provider_id
from ...module_utils.base.printable import printable
from ...module_utils.base.tags import ROLE_TAG
from ...module_utils.nodes.identity import identify
from ..cluster_folder.ownership import state_problem
from .context import Context
from .findings import Finding, counted, failed, listed, not_checkable, passed, passed_if, warning


def libraries(context: Context) -> Finding:
    """Return whether the Python that runs the modules has their libraries. It need not be the one that runs the playbook."""
    reading = context.readings.get("python") or {}
    interpreter, missing = str(reading.get("interpreter") or "ansible_python_interpreter"), reading.get("missing") or []
    if reading.get("msg"):
        return failed(f"{interpreter}: {reading['msg']}")
    return passed_if(not missing, f"{interpreter} has no {listed(missing)}" if missing else f"{interpreter} has them")


def directory(context: Context) -> Finding:
    controller = context.readings.get("controller") or {}
    if controller.get("msg"):
        return failed(str(controller["msg"]))
    if not controller.get("writable", True):
        return failed(f"{context.text('directory')} is not writable")
    mode = controller.get("mode")
    if mode is None:
        return passed(f"{context.text('directory')} will be created")
    return passed_if(int(mode, 8) & 0o077 == 0, f"{context.text('directory')} has mode {mode}")


def files(context: Context) -> Finding:
    """Return whether the files are for this project. In another one their devices are not found, and new keys would be created."""
    owner = str((context.readings.get("controller") or {}).get("project") or "")
    if not owner:
        return passed("no files yet")
    return passed_if(owner == context.text("metal_project_id"), f"{context.text('directory')} is for project {owner}")


NO_JOB = "not a job of AWX"
STORES = ("folder", "object_storage", "cluster")


def job_folder(context: Context) -> Finding:
    """Return whether the cluster's files outlive the job. Without them the kubeconfig of an installed cluster is lost."""
    if not context.in_job:
        return passed(NO_JOB)
    if not (context.readings.get("controller") or {}).get("in_job_folder"):
        return passed(f"{context.text('directory')} is not in the job's private folder")
    if context.text("state_store") == "object_storage":
        return passed("the cluster folder is saved in object storage (openshift_state_store)")
    given_variables = context.settings.get("given_variables") or []
    observed = f"{context.text('directory')} is in the private folder of job {context.text('job')}, which AWX removes at its end"
    # After the install a kubeconfig is sufficient.
    return passed(f"{observed}; openshift_kubeconfig is set") if "openshift_kubeconfig" in given_variables else failed(observed)


def state_store(context: Context) -> Finding:
    """Return whether the settings of the state store are complete. The role state_store reads the store itself before preflight."""
    store = context.text("state_store")
    if store not in STORES:
        return failed(f"openshift_state_store is '{store}'", f"set openshift_state_store to {', '.join(STORES[:-1])} or {STORES[-1]}")
    if store == "folder":
        return passed(f"{context.text('directory')} alone")
    if not context.text("state_password"):
        return failed(
            f"openshift_state_password is not set, which openshift_state_store={store} requires",
            "set openshift_state_password in a vault or in a credential of AWX, and keep it: nobody can read the archive without it",
        )
    if store == "object_storage":
        bucket = context.text("state_bucket")
        return passed(f"bucket {bucket}") if bucket else failed("openshift_state_bucket is not set")
    if context.is_bootstrapped:
        return passed("a Secret of the cluster")
    return warning(
        f"until the bootstrap is complete, {context.text('directory')} is the only copy of the cluster's keys: a cluster without an API has"
        " no Secret"
    )


def install(context: Context) -> Finding:
    """Return whether all devices and networks of the cluster belong to the install of the cluster folder. Others would be adopted."""
    metadata = context.metadata
    belongings = (context.readings.get("belongings") or {}).get("clusters")
    cluster = belongings[0] if belongings else {"name": context.cluster, "devices": context.read("devices", "devices")}
    infra_id = str(metadata.get("infraID") or "")
    begun = bool((context.readings.get("controller") or {}).get("project"))
    if problem := state_problem(cluster, infra_id, context.text("directory"), begun=begun):
        return failed(problem)
    if (context.readings.get("belongings") or {}).get("msg"):
        return not_checkable(str(context.readings["belongings"]["msg"]))
    exists = bool(cluster["devices"])
    if begun and not infra_id and int(cluster.get("count") or 0) > len(cluster["devices"]):
        return passed("addresses or networks of the install that was begun in this folder")
    return passed(f"{infra_id}, like the existing devices" if infra_id and exists else infra_id or "nothing of the cluster exists")


def lock(context: Context) -> Finding:
    belongings = context.readings.get("belongings") or {}
    if belongings.get("msg"):
        return not_checkable(str(belongings["msg"]))
    own = (context.readings.get("own_run") or {}).get("id")
    locks = [
        lock for cluster in belongings.get("clusters") or [] for lock in cluster.get("locks") or [] if not own or lock.get("run") != own
    ]
    if not locks:
        return passed("no run writes to the cluster")
    unknown = "an unknown time"
    texts = [
        f"{lock.get('operation') or 'a run'} of {lock.get('holder') or 'an unknown user'}{', ' + lock['job'] if lock.get('job') else ''}"
        f" since {lock.get('acquired_at') or unknown}, renewed last at {lock.get('renewed_at') or unknown} (lock {lock['id']})"
        for lock in locks
    ]
    return warning(
        f"held by {'; '.join(texts)}",
        "wait until that run has ended; if it has certainly ended and its computer is gone, break its lock: ansible-playbook"
        f" playbooks/unlock.yml -e openshift_unlock={locks[0]['id']}",
    )


def kubeconfig(context: Context) -> Finding:
    """Return whether the kubeconfig is for this cluster. With that of another cluster, nodes of the latter would be drained and deleted."""
    reading = context.readings.get("kubeconfig")
    cluster_id = str(context.metadata.get("clusterID") or "")
    if not reading:
        return passed("no kubeconfig yet")
    if reading.get("msg"):
        return not_checkable(f"the API server does not answer: {reading['msg']}")
    if not cluster_id or not reading.get("cluster_id"):
        return not_checkable("metadata.json or ClusterVersion has no clusterID")
    path = f"{context.text('directory')}/kubeconfig"
    if reading["cluster_id"] == cluster_id:
        return passed(f"for cluster {cluster_id}")
    return failed(f"{path} is for cluster {reading['cluster_id']}, the files in ignition are for cluster {cluster_id}")


ADDED = (
    "restore the control plane hosts that the cluster was installed with: a new device would not be a member of etcd."
    " OpenShift supports 4 and 5 control plane nodes on bare metal from release 4.18 on, and no change from 1 to 3: set the number before"
    " the installation, or add nodes by OpenShift's procedure"
)
REMOVED = (
    "put the host back into the inventory under its name: a control plane node is a member of etcd, and no playbook removes it. To renew"
    " its device, run ansible-playbook replace.yml -e openshift_replace=<host>"
)


def control_plane(context: Context) -> Finding:
    """Return whether the inventory has the control plane of the installed cluster, each machine with its device.

    No playbook but replace.yml orders a control plane machine then: a new device would not be a member of etcd.
    """
    if context.is_adopted:
        return passed("that of the adopted cluster is not managed")
    ordered = context.machines_to_order_by_group.get("control_plane", [])
    hosts = {
        machine["hostname"]: str(machine.get("inventory_hostname") or machine["hostname"]) for machine in context.groups["control_plane"]
    }
    pending = [machine["hostname"] for machine in ordered if machine["hostname"] not in context.to_replace]
    nodes = [device for device in context.devices if f"{ROLE_TAG}load-balancer" not in (device.get("tags") or [])]
    if not (context.is_bootstrapped and nodes):
        return passed("this run creates it" if pending else "complete")
    # Without an answer of the cluster, a host without a device counts as a lost member.
    answer = (context.readings.get("kubeconfig") or {}).get("control_plane") or []
    tagged = [str(device["hostname"]) for device in context.devices if f"{ROLE_TAG}control-plane" in (device.get("tags") or [])]
    members = {*answer, *tagged} or set(hosts)
    lost = [name for name in pending if not answer or name in members]
    new = [name for name in pending if name not in lost]
    removed = sorted(members - {name.lower() for name in hosts})
    problems = [f"no device for {listed(lost)}"] if lost else []
    if new:
        problems.append(f"{listed(new)}: not among the {counted(len(members), 'control plane node')} of the installed cluster")
    if removed:
        problems.append(f"{listed(removed)}: a control plane node of the installed cluster, but not in the inventory")
    advice = [f"replace a lost machine with ansible-playbook replace.yml -e openshift_replace={hosts[lost[0]]}"] if lost else []
    advice += [ADDED] if new else []
    advice += [REMOVED] if removed else []
    return failed("; ".join(problems), "; ".join(advice)) if problems else passed("complete")


def node_devices(context: Context) -> Finding:
    """Return whether each device has the name of its Node. Another device would be ordered for a renamed one, which would be deleted."""
    reading = context.readings.get("kubeconfig") or {}
    nodes = reading.get("nodes")
    if nodes is None:
        return not_checkable("the nodes of the cluster cannot be read") if reading else passed("no cluster is installed yet")
    identities = identify(nodes, context.devices)
    if identities.renamed:
        return failed("; ".join(problem.text for problem in identities.renamed))
    on_devices = [(node, device) for node in nodes if (device := identities.device_of(node["name"])) is not None]
    foreign = [
        f"{node['name']} ({printable(node['provider_id'])})"
        for node, device in on_devices
        if node.get("provider_id") and device_of_provider_id(str(node["provider_id"])) != device.id
    ]
    if foreign:
        return warning(f"nodes whose providerID is not that of their device, which cannot be changed: {listed(foreign)}")
    return passed(f"{counted(len(on_devices), 'node')} on devices of their names")
