# Copyright: (c) 2026, equinix_metal.openshift contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text and data of other programs without the secrets in them.

Redaction has two parts. Known secrets are replaced everywhere, also quoted, escaped or in base64. Values with the name or the form of a
secret are replaced too. In doubt a value is replaced: a log without it is still readable, a published key cannot be revoked in all places.

Nothing but Python's own library is used: ``roles/gather/files/bundle.py`` imports this file as a program.
"""

from __future__ import annotations

import base64
import binascii
import functools
import itertools
import json
import re
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

REDACTED = "<redacted>"

SHORTEST_SECRET = 6
"""Characters. What is shorter stands in too many places where it is no secret."""

SHORTEST_LINE = 20
"""Characters of a line of a longer secret (a key) that is one by itself."""

LARGEST_PACKED = 5_000_000
"""Bytes of what was packed before it was written in base64."""

_DEPTH = 4
"""Levels of base64 that are decoded: an Ignition file in an Ignition file in a log."""

_SECRET_NAME = re.compile(
    r"""
    pass(?:word|wd|phrase|code) | (?<!by)(?<!com)pass(?![a-z]) | (?<!old)(?<=[a-z_-])pwd$ | secret | token | credential | jwt
    | (?:api|access|account|private|encryption|signing|shared|session)[ _-]?key | key[_-]?data
    | ^(?:auth|auths|authorization|md5|psk|pin|creds|customdata|userdata|user_?data|ssh_?key_?file|signature|sig)$
    | ^(?:set[_-])?cookies?2?(?:_string)?$ | ^x-.*(?:token|key|auth|signature|credential) | _?auth$ | dockerconfigjson
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PUBLIC_NAME = re.compile(
    r"(?:names?|namespaces?|ids?|url|type|kind|mode|file|path|bytes|count|length|algorithm|policy|version|status|expires?|lifetime|ttl|timeout"
    r"|required|enabled|exists|ref|mounts?|requests?|reviews?|stdin|passwordless)$",
    re.IGNORECASE,
)
"""What ends like this speaks about a secret: ``tokenName``, ``secret_file``, ``credentialsMode``."""
_MANY = re.compile(r"(?:tokens|secrets|passwords|passphrases|credentials)$", re.IGNORECASE)
"""Under such a name a number counts: ``tokens: 3``."""
_REFERENCE = frozenset({"name", "namespace", "secretName", "defaultMode", "optional", "items"})
"""What Kubernetes says of a Secret that is used somewhere. It is not what the Secret holds."""
_NAMING, _NAMED = frozenset({"name", "key", "header", "variable"}), frozenset({"value", "values"})
"""Keys of an entry that has a name and its value beside it."""

_QUOTE = r"\\{0,31}[\"']"
_NAME = r"[A-Za-z_][\w.-]{0,60}"
_FIELD_ERROR = r"(?:(?:Invalid|Unsupported|Duplicate|Required) value|Not found|Forbidden|Too (?:long|many|few)|Internal error): ?"
"""What follows the name of a field in an error of Kubernetes' validation, which openshift-install uses too. It is not the field's value."""
_FIELD = re.compile(
    rf"(?P<before>(?<![\w.])(?P<name>[A-Za-z][\w.\[\]-]{{0,200}}): (?!Required|Forbidden){_FIELD_ERROR})"
    rf"(?P<value>(?P<quote>{_QUOTE})[^\n]*?(?<!\\)(?P=quote)|(?!\\{{0,31}}[\"'])[^\n]+?(?=: |\\?[\"']?$))"
)
_PEM = re.compile(r"-----BEGIN (?P<kind>[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----.*?(?:-----END (?P=kind)-----|\Z)", re.DOTALL)
_BLOCK = re.compile(
    rf"(?m)^(?P<indent>[ \t]*)(?:- )?(?P<quote>[\"']?)(?P<name>{_NAME})(?P=quote):[ \t]*"
    r"(?:(?:![\w/.-]+[ \t]+)?[|>][-+0-9]*[ \t]*\n(?P<block>(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z)|[ \t]*\n)+)"
    r"|\n(?P<items>(?:(?P=indent)[ \t]*- (?![\w.-]+:\s)[^\n]*(?:\n|\Z))+))"
)
"""A text of several lines in YAML, or a list of texts."""
_MANIFEST = re.compile(r"(?m)\bkind\\{0,31}[\"']?:\s*\\{0,31}[\"']?Secret\b")
_MANIFEST_DATA = re.compile(
    r"(?m)^(?P<before>(?P<indent>[ \t]*)(?:- )?(?:data|stringData):[ \t]*\n)(?:(?P=indent)[ \t]+[^\n]*(?:\n|\Z))+"
    rf"|(?P<key>(?P<quote>{_QUOTE})(?:data|stringData)(?P=quote)\s*:\s*)\{{[^{{}}]*\}}"
)
"""What a Secret of Kubernetes holds is secret whatever its name, here in YAML and in JSON."""
_KEY = re.compile(
    rf"(?:(?<!\\)\\{{1,31}}[nrt]|(?<!\w))\\{{0,31}}[\"']?"
    rf"(?P<name>(?:(?:API|[Aa]pi|[Aa]ccess|[Ss]ecret|[Pp]rivate|[Ee]ncryption) )?{_NAME})(?P<quote>\\{{0,31}}[\"']?)"
    rf"\s*(?:=>|:=|==|[:=])[ \t]*(?!{_FIELD_ERROR})"
)
_VALUE = re.compile(
    r"""[bBuUrR]?"(?:[^"\\]|\\(?s:.))*"|(?P<escape>\\+)".*?(?<!\\)(?P=escape)"|[bBuUrR]?'(?:[^'\\]|\\.|'')*'|\[[^\]\[{}]*\]"""
    # A quote without its end.
    r"""|\\*["'][^\n]+"""
    # Of what is not quoted a mark is the end only where something else begins behind it.
    r"""|(?:[^\s,;&})\]"'\\]|[,;&](?![\s"'\\{\[]|[\w.%-]+[=:]|$)|[})\]](?![\s,;:})\]"'\\]|$)|(?<=\w)["'](?=\w)|\\(?![nrt"'\\]))+"""
)
_LINE = re.compile(
    rf"(?m)^(?P<before>[ \t]*(?:- )?(?P<name>{_NAME})(?::[ \t]+|[ \t]+=[ \t]+))"
    rf"(?P<value>(?!{REDACTED}|{_FIELD_ERROR})[^\s\"'\\|>{{\[][^\n]*)$"
)
"""A text without quotes may have spaces in it."""
_BESIDE = re.compile(r"[\s,;\\\"']*")
"""What may stand between a name and its value: ``name: DB_PASSWORD``, ``value: ...``."""
_NO_VALUE = frozenset({"", REDACTED, "null", "None", "true", "false", "True", "False", "{", "[", "|", ">", "|-", ">-"})
_HEADER_NAME = r"(?:(?:proxy-)?authorization|(?:set-)?cookie2?)"
_SEPARATE = r"(?:\s+|\\{0,31}[\"']\s*,\s*\\{0,31}[\"'])"
"""Between the words of a command, also of one that is written as a list."""
_WORDS = r"(?:[^\n|;&]|(?<=,)\n){0,200}?"
"""Some words of the same command."""
_BEHIND = (
    # Headers, whose values have marks of all kinds in them: quoted, quoted with their name, and bare.
    re.compile(
        rf"(?i)(?P<before>\b{_HEADER_NAME}{_QUOTE}\s*(?:=>|[:=,])\s*\[?\s*(?P<quote>{_QUOTE}))(?P<value>(?!values?\b)[^\n]*?)(?<!\\)(?=(?P=quote))"
    ),
    re.compile(rf"(?i)(?P<before>(?P<quote>{_QUOTE}){_HEADER_NAME}\s*[:=]\s*)(?P<value>[^\n]+?)(?<!\\)(?=(?P=quote))"),
    re.compile(
        rf"(?i)(?P<before>\b{_HEADER_NAME}\s*[:=]\s*\[?)"
        r"(?P<value>(?!\\{0,31}[\"'])(?:(?P<escape>\\+)\"[^\"\n]*?(?P=escape)\"|\"[^\"\n]*\"|[^\n\"'}\]\\]|\\(?![\"']))+)"
    ),
    re.compile(r"\b(?P<before>(?:Bearer|Basic)\s+)(?P<value>(?!authenti\w*\b)[A-Za-z0-9._~+/=-]{8,})"),
    # User and password in an address. A password may have the marks in it that an address has.
    re.compile(
        rf"(?i)(?P<before>\b[a-z][a-z0-9+.-]*://)"
        rf"(?P<value>(?:[^\s/\"'<>]|{REDACTED})+|[^\s/:@\"'<>]{{0,200}}:(?!\d+/)(?:[^\s\"'<>]|{REDACTED}){{1,200}})(?=@)"
    ),
    re.compile(r"(?P<before>(?<![\w./@:-])[\w.-]+:)(?P<value>(?!//)[^\s/@\"'<>]+)(?=@[\w.-]+:\d)"),
    # Words of a command: curl -u admin:..., podman login -p ..., and the login of a .netrc.
    re.compile(
        rf"(?P<before>(?<![\w-])(?:-[uU]|--(?:proxy-)?user|--(?:src-|dest-)?creds)(?:=|{_SEPARATE}|(?=\w))[\"']?[\w.@+-]+:)"
        r"(?P<value>(?![\d:.]+(?:[\s\"'\\]|$))[^\s\"'\\]+)"
    ),
    re.compile(rf"(?P<before>\b(?:login|sshpass)\b{_WORDS}(?<![\w-])-p(?:=|{_SEPARATE})[\"']?)(?P<value>[^\s\"'\\-][^\s\"'\\]*)"),
    re.compile(
        rf"(?P<before>(?<![\w-])-[uUD]{_SEPARATE}[^\s\"'\\]+{_WORDS}(?<![\w-])-[pPw]{_SEPARATE}[\"']?)"
        # Neither a port, nor a path, nor how grave a message of a journal has to be.
        r"(?P<value>(?!(?:[\d:.]+|err|warning|notice|info|debug)(?:[\s\"'\\]|$))[^\s\"'\\/-][^\s\"'\\]*)"
    ),
    re.compile(r"(?P<before>\becho\s+(?:-\w+\s+)?)(?P<value>[^\n|]{1,200}?)(?=\s*\|[^\n|]{0,200}?(?:stdin\b|chpasswd))"),
    re.compile(r"(?P<before>--from-literal(?:=|\s+)[\"']?[\w.-]+=)(?P<value>[^\s\"']+)"),
    re.compile(r"(?P<before>\b(?:machine|login)\s+\S+(?:\s+(?:login|account)\s+\S+){0,2}\s+password\s+)(?P<value>[^\s\"'\\]+)"),
    # password "...", as a sentence has it.
    re.compile(rf"(?i)(?P<before>\b(?:password|passphrase)\s+(?:is\s+)?(?P<quote>{_QUOTE}))(?P<value>[^\n]*?)(?=(?P=quote))"),
)
_USER_IN_ADDRESS = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://(.+)@", re.DOTALL)
_USER_OPTIONS = frozenset({"-u", "-U", "--user", "--proxy-user", "--creds", "--src-creds", "--dest-creds"})
_OPTION = re.compile(
    rf"(?P<before>(?<![\w-])--?(?P<name>{_NAME}){_SEPARATE})(?P<value>\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"'\\-][^\s\"'\\]*)"
)
_ELEMENT = re.compile(r"(?P<before><(?P<name>[A-Za-z_][\w.-]{0,60})(?:\s[^<>]*)?>)(?P<value>[^<>]+)(?=</(?P=name)>)")
_FORMS = (
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*"),  # JSON web token
    re.compile(r"\bsha256~[A-Za-z0-9_-]{20,}"),  # OpenShift's OAuth tokens
    re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b"),  # Kubernetes' bootstrap tokens
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),  # access keys of S3
    re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abp]-|hvs\.)[A-Za-z0-9_-]{16,}"),  # GitHub, GitLab, Slack, Vault
    re.compile(r"\$(?:1|5|6|7|y|gy|2[abxy]|apr1|argon2\w*)\$[\w./,=$+-]{16,}"),  # hashes of passwords
)
_PERCENT = re.compile(r"(?:(?<=data:)[\w./+;=-]*,|(?<=\w=))[^\s\"'<>&\\]{0,4000}?%[0-9A-Fa-f]{2}[^\s\"'<>&\\]*")
"""What is written with per cent signs: files in Ignition, values in an address."""
_WRAPPED = re.compile(r"(?:[A-Za-z0-9+/]{60,76}(?:\r?\n[ \t]*|\\n))+[A-Za-z0-9+/]{1,76}={0,2}")
"""Base64 in lines."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")


class Redactor:
    """Replaces secrets in text and data. ``count``: the number of replacements."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self.count = 0
        forms = {form for secret in secrets for form in _forms(secret)}
        # The longest first: a part of a secret must not be taken out of its whole.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """Return ``text`` without secrets."""
        return self._text(text, _DEPTH)

    def data(self, value: Any, name: str = "") -> Any:
        """Return a value without secrets. Under the name of a secret the whole value is replaced."""
        if name and is_secret_name(name) and not _is_harmless(name, value) and value not in (None, "", [], {}, True, False):
            self.count += 1
            return REDACTED
        if isinstance(value, Mapping):
            hidden = set(_hidden(value))
            return {self.text(str(key)): self.data(item, "secret" if key in hidden else str(key)) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            words = set(_secret_words(value))
            return [self.data(item, "secret" if place in words else "") for place, item in enumerate(value)]
        return self.text(value) if isinstance(value, str) else value

    def _text(self, text: str, depth: int) -> str:
        if self._known is not None:
            text = self._replace(self._known, text)
        text = self._replace(_PEM, text)
        if _MANIFEST.search(text):
            text = "".join(map(self._manifest, re.split(r"(?m)^(?=---)", text)))
        text = _FIELD.sub(self._field, text)
        text = _BLOCK.sub(self._block, text)
        for pattern in _BEHIND:
            text = self._behind(pattern, text)
        for pattern in (_LINE, _OPTION, _ELEMENT):
            text = pattern.sub(self._named, text)
        text = self._pairs(text)
        for form in _FORMS:
            text = self._replace(form, text)
        if not depth:
            return text
        for encoded in (_PERCENT, _WRAPPED, _BASE64):
            text = encoded.sub(lambda match: self._encoded(match[0], depth), text)
        return text

    def _replace(self, pattern: re.Pattern[str], text: str) -> str:
        text, count = pattern.subn(REDACTED, text)
        self.count += count
        return text

    def _behind(self, pattern: re.Pattern[str], text: str) -> str:
        def redacted(match: re.Match[str]) -> str:
            self.count += match["value"].strip() != REDACTED
            return f"{match['before']}{REDACTED}"

        return pattern.sub(redacted, text)

    def _named(self, match: re.Match[str]) -> str:
        if not is_secret_name(match["name"]) or _is_harmless(match["name"], match["value"]) or match["value"] in _NO_VALUE:
            return match[0]
        self.count += 1
        return f"{match['before']}{REDACTED}"

    def _field(self, match: re.Match[str]) -> str:
        """Replace the value of a secret field in an error, and keep the reason."""
        if not is_secret_name(match["name"].rpartition(".")[2]) or match["value"].strip("\\\"'") in _NO_VALUE:
            return match[0]
        self.count += 1
        quote = match["quote"] or ""
        return f"{match['before']}{quote}{REDACTED}{quote}"

    def _pairs(self, text: str) -> str:
        """Values behind the names of secrets: ``name: value``, ``name=value``, ``"name": "value"``, also within a text within a text."""
        parts, position = [], 0
        named = -1  # where the name of a secret ended, whose value may stand beside it
        for key in _KEY.finditer(text):
            name, lower = key["name"], key["name"].lower()
            if key.start() < position or not (is_secret_name(name) or lower in _NAMING or lower in _NAMED):
                continue
            value = _VALUE.match(text, key.end())
            if value is None:
                continue
            said, end = value[0].strip("\\\"'"), value.end()
            if lower in _NAMING and is_secret_name(said):
                named = end
            if lower in _NAMED:
                secret = (named >= 0 and _BESIDE.fullmatch(text, named, key.start()) is not None) or _names_a_secret(text, end)
            else:
                secret = is_secret_name(name)
            whole: Any = said
            if secret and said.startswith(("{", "[")):
                whole, end = _document(text, key.end()) or (said, end)
            if secret and str(whole) not in _NO_VALUE and not _is_harmless(name, whole):
                self.count += 1
                opening = re.match(r"\\*[\"']|", value[0])
                mark = (opening[0] if opening else "") or key["quote"]
                parts += [text[position : key.end()], mark, REDACTED, mark]
                position = end
        return "".join([*parts, text[position:]])

    def _block(self, match: re.Match[str]) -> str:
        name = match["name"]
        if not (is_secret_name(name) or (name.lower() in _NAMED and _is_below_a_name(match.string, match.start()))):
            return match[0]
        self.count += 1
        kind, mark = ("block", "") if match["items"] is None else ("items", "- ")
        return f"{match[0][: match.start(kind) - match.start()]}{match['indent']}  {mark}{REDACTED}\n"

    def _manifest(self, document: str) -> str:
        """A manifest of Kubernetes without what it holds, when it is a Secret."""
        return _MANIFEST_DATA.sub(self._emptied, document) if _MANIFEST.search(document) else document

    def _emptied(self, match: re.Match[str]) -> str:
        self.count += 1
        if match["key"] is not None:
            return f"{match['key']}{match['quote']}{REDACTED}{match['quote']}"
        return f"{match['before']}{match['indent']}  {REDACTED}\n"

    def _encoded(self, run: str, depth: int) -> str:
        """Redact a whole run of base64 or per cent encoding if the decoded text contains a secret."""
        for text in _decoded(run):
            before = self.count
            clean = self._text(text, depth - 1)
            if clean != text:
                self.count = before + 1
                return REDACTED
        return run


@functools.lru_cache(maxsize=4096)  # a log has few names, many times
def is_secret_name(name: str) -> bool:
    """Return whether the value of this name is a secret, by the name alone."""
    return bool(_SECRET_NAME.search(name)) and not _PUBLIC_NAME.search(name)


def _is_harmless(name: str, value: Any) -> bool:
    """Return whether the value of a secret name is no secret: a number of secrets, or a reference to one."""
    if isinstance(value, Mapping):
        return bool(value) and _REFERENCE.issuperset(value)
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, Mapping) and _is_harmless(name, item) for item in value)
    return bool(_MANY.search(name) and re.match(r"\d{1,9}(?![^\s,;)}\]])", str(value)))


def _hidden(entry: Mapping[Any, Any]) -> Iterator[Any]:
    """Return the keys of an entry whose values are secret because of its other keys."""
    if any(str(key).lower() in _NAMING and isinstance(item, str) and is_secret_name(item) for key, item in entry.items()):
        yield from (key for key in entry if str(key).lower() in _NAMED)
    if entry.get("kind") == "Secret":
        yield from ("data", "stringData")


def _secret_words(words: Sequence[Any]) -> Iterator[int]:
    """The places of secrets among the words of a command: behind ``--password``, and behind ``-p`` where there is a user or a login."""
    is_login = any(word in ("login", "sshpass", "-u", "-U", "-D") for word in words)
    for place, (before, word) in enumerate(itertools.pairwise(words), 1):
        if isinstance(before, str) and isinstance(word, str) and not word.startswith("-"):
            option = re.fullmatch(rf"--?({_NAME})", before)
            if (
                (option is not None and is_secret_name(option[1]))
                or (before in _USER_OPTIONS and re.fullmatch(r"[^:]+:(?!\d+$).+", word, re.DOTALL))
                or (is_login and before in ("-p", "-P", "-w") and not re.fullmatch(r"[\d:.]+|/.*|err|warning|notice|info|debug", word))
            ):
                yield place


def _names_a_secret(text: str, position: int) -> bool:
    """Whether ``name: DB_PASSWORD`` follows."""
    beside = _BESIDE.match(text, position)
    key = _KEY.match(text, beside.end() if beside else position)
    said = _VALUE.match(text, key.end()) if key and key["name"].lower() in _NAMING else None
    return said is not None and is_secret_name(said[0].strip("\\\"'"))


def _is_below_a_name(text: str, position: int) -> bool:
    """Whether the line above is ``name: DB_PASSWORD``."""
    above = text[text.rfind("\n", 0, max(position - 1, 0)) + 1 : position]
    key = _KEY.search(above)
    return key is not None and key["name"].lower() in _NAMING and is_secret_name(above[key.end() :].strip().strip("\\\"'"))


def _document(text: str, position: int) -> tuple[Any, int] | None:
    """The JSON that begins there, and where it ends."""
    try:
        return json.JSONDecoder().raw_decode(text, position)
    except ValueError:
        return None


def secrets_in(value: Any) -> Iterator[str]:
    """Every secret text in ``value``: a text itself, what a JSON text has of credentials, and what lists and dictionaries hold."""
    if isinstance(value, str):
        yield value
        inner = _parsed(value)
        if inner is not None:
            yield from secrets_in(inner)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            # Of a registry's entry the address of a person is none, and its host names are public.
            if not isinstance(item, str) or str(name) not in ("email", "username"):
                yield from secrets_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from secrets_in(item)


def secrets_of_settings(value: Any) -> Iterator[str]:
    """Every secret text in settings: what stands under the name of a secret, and users and passwords in addresses.

    What else stands there is none: a refusal has to be able to name it.
    """
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from secrets_in(item) if is_secret_name(str(name)) else secrets_of_settings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from secrets_of_settings(item)
    elif isinstance(value, str) and (address := _USER_IN_ADDRESS.match(value)):
        # Also where it is no address at all for the marks in its password: nobody has escaped them.
        user, _colon, password = address[1].partition(":")
        yield password or user
        yield urllib.parse.unquote(password or user)


def _parsed(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, (dict, list)) else None


def _forms(secret: str) -> Iterator[str]:
    """The spellings under which a secret is found again: plain, in JSON, in an address, and in base64 wherever it begins there."""
    secret = secret.strip()
    if len(secret) < SHORTEST_SECRET:
        return
    lines = [line.strip() for line in secret.splitlines()]
    for text in {secret, *(line for line in lines if len(line) >= SHORTEST_LINE and not line.startswith("-----"))}:
        yield text
        yield json.dumps(text)[1:-1]
        yield urllib.parse.quote(text, safe="")
        yield urllib.parse.quote(text)
        yield urllib.parse.quote_plus(text)
        for shift in range(3):
            # Three bytes are four characters: behind one or two other bytes the same text reads differently, but for its edges.
            core = base64.b64encode(b"\0" * shift + text.encode()).rstrip(b"=").decode()
            core = core[(0, 2, 3)[shift] :]
            core = core[: len(core) - 1 if len(text.encode()) + shift % 3 else len(core)]
            if len(core) >= SHORTEST_SECRET:
                yield core
                yield core.replace("+", "-").replace("/", "_")


def _decoded(run: str) -> Iterator[str]:
    """What a run of base64, also one that was packed before, or a text with per cent signs may stand for, when that is text."""
    if "%" in run:
        yield urllib.parse.unquote(run)
        return
    run = re.sub(r"\s|\\n", "", run).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(run[: len(run) - (len(run) % 4 == 1)] + "=" * (-len(run) % 4), validate=True)
        if content.startswith(b"\x1f\x8b"):
            content = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content, LARGEST_PACKED)
        yield content.decode("utf-8")
    except (binascii.Error, ValueError, zlib.error):
        return
