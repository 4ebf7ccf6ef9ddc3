"""The client's rules: what is repeated and what never, what an error says, how lists end."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.argspec import Options
from ansible_collections.equinix_metal.openshift.plugins.module_utils.base.errors import (
    CollectionError,
    DeniedError,
    LostAnswerError,
    MetalError,
    NotFoundError,
    ReadOnlyError,
    ServerError,
    UnreachableError,
    UnreadableError,
    ValidationError,
)
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients import metal as metal_client
from ansible_collections.equinix_metal.openshift.plugins.module_utils.clients.metal import MetalClient
from ansible_collections.equinix_metal.openshift.plugins.module_utils.frame.metal import MetalModule
from metal_api.tls import CertificateAuthority
from tests.module_arguments import patch_module_args
from tests.unit.plugins.module_utils.service import Reply, Service, serving

TOKEN = "token-of-the-test-0123456789"
HTML = Reply(200, body=b"<html>login</html>", headers={"Content-Type": "text/html"})


class Pauses(list[float]):
    """Stands for ``sleep`` and keeps what it was asked for."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def client_of(service: Service, pauses: Pauses | None = None, **options: Any) -> MetalClient:
    return MetalClient(url=service.url, token=TOKEN, sleep=Pauses() if pauses is None else pauses, **options)


def write(client: MetalClient) -> Any:
    return client.write("POST", "projects/p/devices", {"hostname": "a"}, doing="create device a")


def read(client: MetalClient) -> Any:
    return client.read("devices/d", doing="look at device d")


# --- what is repeated -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attempt", [read, write, lambda client: client.delete("devices/d", doing="delete device d")])
def test_a_429_is_always_retried(attempt: Any) -> None:
    with serving(Reply(429, {"errors": ["slow down"]}, headers={"Retry-After": "7"}), Reply(429), Reply(200, {"id": "d"})) as service:
        pauses = Pauses()
        attempt(client_of(service, pauses))
        assert len(service.seen) == 3
        assert pauses[0] == 7
        assert 0.25 < pauses[1] <= 1


@pytest.mark.parametrize(
    ("result", "pause"), [("0", 1), ("90000", 60), ("2.5", 2.5), ("Wed, 21 Oct 2015 07:28:00 GMT", 1), ("soon", None), ("nan", 1)]
)
def test_retry_after_is_clamped(result: str, pause: float | None) -> None:
    with serving(Reply(429, headers={"Retry-After": result}), Reply(200, {})) as service:
        pauses = Pauses()
        read(client_of(service, pauses))
        assert pauses == [pause] if pause else 0.25 <= pauses[0] <= 0.5


SERVER_ERRORS = [Reply(status, {"errors": ["Oh snap"]}) for status in (500, 502, 503, 504)]
LOST = [Reply(cut=True), Reply(200, body=b'{"id": "d', length=100)]
UNREADABLE = [HTML, Reply(200, body=b'{"id": "d'), Reply(200, body=b"")]


@pytest.mark.parametrize("fault", [*SERVER_ERRORS, *LOST, *UNREADABLE[:2]])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_write_with_an_unknown_effect_is_never_repeated(method: str, fault: Reply) -> None:
    with serving(fault, Reply(200, {"id": "d"})) as service:
        with pytest.raises(LostAnswerError, match="Whether it was done is unknown"):
            client_of(service).write(method, "devices/d", {"a": 1}, doing="change device d")
        assert len(service.seen) == 1


@pytest.mark.parametrize("fault", [*SERVER_ERRORS, *LOST])
def test_a_delete_with_a_lost_answer_is_repeated(fault: Reply) -> None:
    with serving(fault, Reply(404, {"errors": ["Not found"]})) as service:
        with pytest.raises(NotFoundError):
            client_of(service).delete("devices/d", doing="delete device d")
        assert service.calls == ["DELETE /devices/d"] * 2


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_check_mode_sends_no_write(method: str) -> None:
    with serving(Reply(200, {})) as service:
        client = client_of(service, read_only=True)
        with pytest.raises(ReadOnlyError):
            client.write(method, "devices/d", {}, doing="change device d")
        with pytest.raises(ReadOnlyError):
            client.call_api("devices/d", type=method)
        assert service.seen == []


DRIPPING = Reply(200, body=b'{"id": "d"}' + b" " * 1000, drip=0.02)


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_an_answer_that_never_ends_is_not_waited_for_longer_than_the_limit(tls: bool, tmp_path: Path) -> None:
    ca = CertificateAuthority(tmp_path)
    with serving(DRIPPING, tls=ca.server_context("127.0.0.1") if tls else None) as service:
        client = client_of(service, timeout=1, retries=1, ca_path=str(ca.certificate_file))
        started = time.monotonic()
        with pytest.raises(UnreachableError, match=r"\(request request-2\) was not answered in full within 1 seconds"):
            read(client)
        with pytest.raises(LostAnswerError) as lost:
            write(client)
        assert lost.value.late, "it may well be done"
        assert lost.value.request_id == "request-3"
        assert 2.9 <= time.monotonic() - started < 15
        assert service.calls == ["GET /devices/d", "GET /devices/d", "POST /projects/p/devices"]


# --- errors -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        (Reply(401, {"error": "Invalid authentication token"}), DeniedError, "does not accept the token"),
        (Reply(403, {"errors": ["Access denied"]}), DeniedError, "the token may not do this"),
        (Reply(422, {"errors": ["Plan is wrong", "Metro can't be blank"]}), ValidationError, "Plan is wrong; Metro can't be blank"),
        (Reply(422, {"something": "else"}), ValidationError, "422: Unprocessable"),
        (Reply(404, body=b"<html>", headers={"Content-Type": "text/html"}), UnreadableError, "check metal_api_url"),
        (Reply(302, headers={"Location": "http://127.0.0.1:1/"}), UnreadableError, "check metal_api_url|redirect"),
        (Reply(500, {"errors": ["Oh snap"]}), ServerError, "500: Oh snap"),
    ],
)
def test_errors_have_a_type_and_name_the_request(reply: Reply, kind: type[MetalError], text: str) -> None:
    with serving(reply) as service:
        with pytest.raises(kind, match=text.replace("(", r"\(")) as caught:
            read(client_of(service, retries=0))
        assert caught.type is kind
        assert "Cannot look at device d" in caught.value.message
        assert caught.value.details["path"] == "devices/d"
        if reply.status >= 400:
            assert caught.value.details["request_id"] == "request-1"
            assert "request-1" in caught.value.message


def test_the_token_is_in_no_error() -> None:
    with serving(Reply(422, {"errors": [f"no such token {TOKEN}"]})) as service:
        with pytest.raises(ValidationError) as caught:
            read(client_of(service))
        assert TOKEN not in caught.value.message + repr(caught.value.details)
        assert service.seen[0].headers["X-Auth-Token"] == TOKEN


@pytest.mark.parametrize("token", ["", " ", "two\nlines", "sch\u00f6n", "with space"])
def test_an_invalid_token_is_an_error_without_a_request(token: str) -> None:
    with pytest.raises(CollectionError, match="metal_api_token"):
        MetalClient(url="http://127.0.0.1:1", token=token)


@pytest.mark.parametrize("url", ["", "api.example.com", "ftp://host/", "https://", "http://[", "http://host/path?x=1"])
def test_an_invalid_api_url_is_an_error_without_a_request(url: str) -> None:
    with pytest.raises(CollectionError, match="metal_api_url"):
        MetalClient(url=url, token=TOKEN)


# --- lists --------------------------------------------------------------------------------------------------------------------


def pages(*sizes: int, **meta: Any) -> list[Reply]:
    replies, count = [], 0
    for number, size in enumerate(sizes, 1):
        items = [{"id": str(count + n)} for n in range(size)]
        count += size
        filled = {
            name: number if value == "NUMBER" else len(sizes) if value == "PAGES" else sum(sizes) if value == "TOTAL" else value
            for name, value in meta.items()
            if not (name == "next" and number == len(sizes))
        }
        replies.append(Reply(200, {"devices": items, "meta": filled}))
    return replies


def names(client: MetalClient) -> list[str]:
    return [item["id"] for item in client.read_list("projects/p/devices", "devices", doing="list")]


@pytest.mark.parametrize(
    "replies",
    [
        pages(3, 3, 1, next={"href": "/next"}, current_page="NUMBER", last_page="PAGES", total="TOTAL"),
        pages(3, 3, 1, next={"href": "/next"}),
        pages(3, 3, 1, current_page="NUMBER", last_page="PAGES"),
        pages(3, 3, 1, total="TOTAL"),
        pages(7, next=None, total=7),
        [Reply(200, {"devices": [{"id": str(n)} for n in range(7)]})],
    ],
)
def test_every_list_is_read_to_its_end(replies: list[Reply]) -> None:
    with serving(*replies) as service:
        assert names(client_of(service)) == list("0123456")
        assert len(service.seen) == len(replies)


def test_a_list_that_changes_while_it_is_read_is_read_again() -> None:
    first = {"devices": [{"id": "0"}, {"id": "1"}], "meta": {"total": 4, "current_page": 1, "last_page": 2}}
    # 0 was deleted in between: 2 moved to the first page and would be missed.
    moved = {"devices": [{"id": "3"}], "meta": {"total": 3, "current_page": 2, "last_page": 2}}
    again = {"devices": [{"id": "1"}, {"id": "2"}], "meta": {"total": 3, "current_page": 1, "last_page": 2}}
    with serving(*[Reply(200, data) for data in (first, moved, again, moved)]) as service:
        assert names(client_of(service)) == ["1", "2", "3"]


def test_a_list_that_changes_each_time_it_is_read_is_an_error() -> None:
    first = {"devices": [{"id": "0"}, {"id": "1"}], "meta": {"total": 4, "current_page": 1, "last_page": 2}}
    moved = {"devices": [{"id": "3"}], "meta": {"total": 3, "current_page": 2, "last_page": 2}}
    result = r"the list changed each of the 3 times that its 2 pages were read \(GET /projects/"
    with serving(*[Reply(200, data) for data in (first, moved) * 3]) as service, pytest.raises(UnreadableError, match=result):
        names(client_of(service, retries=2))


def test_an_object_that_moved_to_a_later_page_is_returned_once() -> None:
    first = {"devices": [{"id": "0"}, {"id": "1"}], "meta": {"total": 3, "current_page": 1, "last_page": 2}}
    second = {"devices": [{"id": "1"}, {"id": "2"}], "meta": {"total": 3, "current_page": 2, "last_page": 2}}
    with serving(Reply(200, first), Reply(200, second)) as service:
        assert names(client_of(service)) == ["0", "1", "2"]


class Endless:
    """Replies without end: page after page, each with ``size`` entries of ids that ``identity`` computes from their number."""

    def __init__(self, identity: Callable[[int], Any], size: int = 2, **meta: Any) -> None:
        self._identity, self._size, self._meta, self.given = identity, size, meta, 0

    def __len__(self) -> int:
        return 2

    def pop(self, _index: int) -> Reply:
        numbers = range(self.given * self._size, (self.given + 1) * self._size)
        self.given += 1
        items = [{"id": identity} if (identity := self._identity(number)) is not None else {"name": "odd"} for number in numbers]
        return Reply(200, {"devices": items, "meta": self._meta})


@pytest.mark.parametrize(
    "meta", [{"next": "/more"}, {"next": {"href": "?page=2"}}, {"current_page": 1, "last_page": 10**300}, {"total": 10**300}]
)
@pytest.mark.parametrize(
    "identity",
    [lambda _number: "a", lambda number: str(number % 2), lambda number: str(number % 6), lambda _number: None, lambda _number: [1]],
    ids=["one id", "one page", "three pages", "no ids", "ids that are none"],
)
@pytest.mark.parametrize("by_packet", [False, True])
def test_pages_that_repeat_themselves_end(identity: Callable[[int], Any], meta: dict[str, Any], by_packet: bool) -> None:
    with serving(Reply()) as service:
        service.replies = Endless(identity, **meta)  # type: ignore[assignment]  # as much of a list as is used
        client = client_of(service, retries=2)
        with pytest.raises(UnreadableError, match=r"page [234] only repeats earlier pages.*GET /projects/p/devices"):
            client.call_api("projects/p/devices") if by_packet else names(client)
        assert len(service.seen) <= 3 * 4


def test_pages_without_end_are_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metal_client, "MAX_PAGES", 20)
    with serving(Reply()) as service:
        service.replies = Endless(str, next="/more")  # type: ignore[assignment]  # as above
        with pytest.raises(UnreadableError, match="it has more than 20 pages"):
            names(client_of(service))
        assert len(service.seen) == 20


@pytest.mark.parametrize("entries", [[3], ["a"], [{"id": "a"}, []], 7, "text", True, {"id": "a"}])
def test_a_malformed_list_is_not_an_empty_list(entries: Any) -> None:
    with (
        serving(Reply(200, {"devices": entries})) as service,
        pytest.raises(UnreadableError, match=r"Cannot list: .*(no list|no objects)"),
    ):
        names(client_of(service))
    first = Reply(200, {"devices": [{"id": "0"}], "meta": {"next": "/more"}})
    with serving(first, Reply(200, {"devices": entries})) as service, pytest.raises(UnreadableError):
        names(client_of(service))


# --- what is noticed ------------------------------------------------------------------------------------------------------------


def test_an_answer_without_the_object_counts_as_lost() -> None:
    with serving(Reply(200, body=b""), Reply(200, {"errors": []}), Reply(201, {"href": "/metal/v1/devices/" + IDENTITY})) as service:
        client = client_of(service)
        for _time in range(2):
            with pytest.raises(LostAnswerError, match=r"Cannot create device a: the answer \(200\) has no id .*request request-"):
                client.write_one("POST", "projects/p/devices", {}, doing="create device a")
        assert client.write_one("POST", "projects/p/devices", {}, doing="create device a")["id"] == IDENTITY


IDENTITY = "2b70eb8f-fa18-47c0-aba7-222a842362fd"


@pytest.mark.parametrize(("reply", "late"), [(Reply(504), True), (Reply(502), False), (Reply(cut=True), False)])
def test_a_write_after_a_timeout_may_still_take_effect(reply: Reply, late: bool) -> None:
    with serving(reply) as service, pytest.raises(LostAnswerError) as caught:
        write(client_of(service))
    assert caught.value.late is late


def test_a_missing_list_with_a_total_is_an_error() -> None:
    counted = Reply(200, {"devices": None, "meta": {"total": 2, "next": None}})
    whole = Reply(200, {"devices": [{"id": "1"}, {"id": "2"}], "meta": {"total": 2, "next": None}})
    with serving(counted, whole) as service:
        assert len(client_of(service).read_list("projects/p/devices", "devices", doing="list")) == 2
    with serving(counted) as service, pytest.raises(UnreadableError, match="no list 'devices', though it counts 2"):
        client_of(service).read_list("projects/p/devices", "devices", doing="list")


def limits(limit: int, left: int, seconds: float) -> dict[str, str]:
    reset = str(int(time.time() + seconds))
    return {"X-RateLimit-Limit": str(limit), "X-RateLimit-Remaining": str(left), "X-RateLimit-Reset": reset}


def test_a_client_pauses_as_the_rate_limit_headers_request() -> None:
    pauses = Pauses()
    with serving(Reply(200, {"id": "d"}, headers=limits(100, 1, 20))) as service:
        client = client_of(service, pauses)
        read(client)
        assert pauses == []
        read(client)
        assert 15 < pauses[0] <= 20
        write(client)
        assert len(pauses) == 2, "a write slows down as well"


@pytest.mark.parametrize("name", ["METAL_API_CA_PATH", "REQUESTS_CA_BUNDLE"])
def test_only_certificates_of_the_ca_bundle_are_trusted(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, another = CertificateAuthority(tmp_path / "ours"), CertificateAuthority(tmp_path / "another")
    with serving(Reply(200, {"id": "d"}), tls=ours.server_context("127.0.0.1")) as service:
        with patch_module_args({"metal_api_url": service.url, "metal_api_token": TOKEN}):
            monkeypatch.setenv(name, str(ours.certificate_file))
            assert read(MetalModule(Options(), reading=True).client) == {"id": "d"}
            monkeypatch.setenv(name, str(another.certificate_file))
            with pytest.raises(CollectionError, match=r"no trusted connection to https://.* set METAL_API_CA_PATH to that CA"):
                read(MetalModule(Options(), reading=True).client)
        # What is given goes before what is around.
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(another.certificate_file))
        assert read(client_of(service, ca_path=str(ours.certificate_file))) == {"id": "d"}


def test_a_prefix_is_one_line() -> None:
    with pytest.raises(CollectionError, match="metal_ua_prefix"):
        MetalClient(url="https://metal.invalid", token=TOKEN, user_agent_prefix="a\nX-Auth-Token: b")


ELSEWHERE = ["../projects/x", "..", ".", "", "x/", "/x", "x//y", "x#y", "%2e%2e", "x y", "x\n", "x\x00", "\u0430", "{{ x }}"]
ACTS: dict[str, Callable[[MetalClient, str], Any]] = {
    "read": lambda client, path: client.read(path, doing="read it"),
    "read_list": lambda client, path: client.read_list(path, "devices", doing="list it"),
    "write": lambda client, path: client.write("PUT", path, {}, doing="write it"),
    "delete": lambda client, path: client.delete(path, doing="delete it"),
    "call_api": lambda client, path: client.call_api(path, type="DELETE"),
}


@pytest.mark.parametrize(
    ("act", "identity"),
    # packet-python writes queries into its paths.
    [(act, identity) for act in ACTS for identity in (*ELSEWHERE, *(["x?force_delete=true"] if act != "call_api" else []))],
)
def test_an_id_with_a_path_is_refused_without_a_request(act: str, identity: str) -> None:
    with serving(Reply(200, {"id": "d"})) as service:
        with pytest.raises(CollectionError, match="is not a path of the Metal API: an id in it is malformed") as caught:
            ACTS[act](client_of(service), f"devices/{identity}/events")
        assert not service.seen
        assert caught.value.message.isprintable()


@pytest.mark.parametrize("url", ["https://user:planted@metal.example/v1", "https://planted@metal.example/v1", "http://planted@["])
def test_an_address_with_a_password_is_refused_and_not_printed(url: str) -> None:
    with pytest.raises(CollectionError, match="metal_api_url must be an address") as caught:
        MetalClient(url=url, token=TOKEN)
    assert "planted" not in caught.value.message
    with pytest.raises(CollectionError, match="metal_api_proxy must be the address of a proxy") as caught:
        MetalClient(url="https://metal.invalid", token=TOKEN, proxy="user:planted@proxy")
    assert "planted" not in caught.value.message


def test_requests_go_through_the_proxy_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with serving(Reply(200, {"id": "d"})) as proxy:
        assert read(MetalClient(url="http://metal.invalid/v1", token=TOKEN, proxy=proxy.url, sleep=Pauses())) == {"id": "d"}
        assert proxy.seen[0].headers["Host"] == "metal.invalid"
