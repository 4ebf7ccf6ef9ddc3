"""Requests to the API and the routers of a cluster, through every address that their DNS records have."""

import base64
import ssl

import httpx
import yaml

from tests.e2e.harness import NAME, User, until

CONSOLE = f"console-openshift-console.apps.{NAME}"
ROUTER_PODS = "/api/v1/namespaces/openshift-ingress/pods"
HEADER = "x-sandbox-router"


def trust(user: User) -> ssl.SSLContext:
    """The CAs of the installed kubeconfig: the API's and the routers'."""
    content = yaml.safe_load((user.cluster / "kubeconfig").read_text(encoding="utf-8"))
    bundle = base64.b64decode(content["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    return ssl.create_default_context(cadata=bundle)


def get(user: User, address: str, host: str, port: int, path: str = "/") -> httpx.Response:
    with httpx.Client(verify=trust(user), trust_env=False, timeout=10) as client:
        url = f"https://{address}:{port}{path}"
        return client.get(url, headers={"host": f"{host}:{port}"}, extensions={"sni_hostname": host})


def routers(user: User) -> set[str]:
    """Nodes with a router that stays, once as many run as nodes can take."""

    def ready() -> set[str]:
        pods = [pod for pod in user.kube(ROUTER_PODS)["items"] if not pod["metadata"].get("deletionTimestamp")]
        # The kubelet of a new node refuses a pod that is scheduled before it has read the labels of the node. Another one takes its place.
        pods = [pod for pod in pods if pod.get("status", {}).get("phase") != "Failed"]
        running = {pod["spec"]["nodeName"] for pod in pods if pod.get("status", {}).get("phase") == "Running"}
        return running if len(running) == len(pods) else set()

    found: set[str] = until(ready, what="all routers run")
    return found


def assert_served(user: User) -> None:
    """Every address of every record answers, and ingress by a node that runs a router."""
    for host in (f"api.{NAME}", f"api-int.{NAME}"):
        for address in user.names.addresses(host):
            assert get(user, address, host, 6443, "/readyz").text == "ok", (host, address)
    for host in (CONSOLE, f"oauth-openshift.apps.{NAME}"):
        addresses = user.names.addresses(host)
        assert addresses, f"no address for {host}"
        for address in addresses:
            answer = get(user, address, host, 443)
            assert (answer.status_code, answer.headers[HEADER] in routers(user)) == (200, True), (host, address)
            plain = httpx.get(f"http://{address}/", headers={"host": host}, trust_env=False)
            assert plain.headers["location"] == f"https://{host}/"
