"""Files: strict YAML 1.2 and JSON, and the one way in which this package writes a file.

A key that stands twice is refused, and errors name the file and the line. PyYAML alone reads YAML
1.1: ``1e-1`` as text, the words ``no`` and ``on`` as truth values, ``010`` as 8, and of two equal
keys the last one. ruamel.yaml reads ``1_000`` as a number and ``2001-01-01`` as a date, and takes
twice as long; strictyaml refuses ``{0: 0.5}``.
"""

from __future__ import annotations

import errno
import itertools
import json
import math
import os
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import yaml

from scansnap_core.base.bad_input import BadInput
from scansnap_core.base.rules import PATH, Rule, is_whole, shown

WAIT_SECONDS = 5
"""A result that can't be written is tried again after so long."""
KINDS = (".yaml", ".yml", ".json")
# The core schema of YAML 1.2, where numbers have an end.
_SCALARS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "null": (r"~|null|Null|NULL|", lambda text: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    "int": (
        r"[-+]?[0-9]{1,99}|0o[0-7]{1,99}|0x[0-9a-fA-F]{1,99}",
        lambda text: int(text, 0 if text[:2] in ("0o", "0x") else 10),
    ),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]{1,99}(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        lambda text: float(text.replace(".", "") if text[-1:] in ("f", "F", "n", "N") else text),
    ),
}


class _Loader(yaml.SafeLoader):
    """Reads YAML 1.2's scalars, and refuses a key that stands twice."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # type: ignore[misc]

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Build each part whole, so that none can contain itself: PyYAML then refuses an alias
        inside of its anchor.
        """
        return super().construct_object(node, deep=True)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Build a mapping whose keys differ."""
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node)
            if isinstance(key, Hashable):  # the base class refuses other keys
                if key in seen:
                    raise _twice(key, f" in line {key_node.start_mark.line + 1}")
                seen.add(key)
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """Quotes words that YAML 1.1 or 1.2 would read as a number or a truth value."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal parts out."""
        return True


def _constructor(meaning: Callable[[str], Any]) -> Callable[[_Loader, yaml.ScalarNode], Any]:
    """Make PyYAML's constructor of a scalar out of the meaning of its text."""
    return lambda loader, node: meaning(str(loader.construct_scalar(node)))


for _name, (_pattern, _meaning) in _SCALARS.items():
    for _kind in (_Loader, _Dumper):
        _kind.add_implicit_resolver(
            f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})\Z"), None
        )
    _Loader.add_constructor(f"tag:yaml.org,2002:{_name}", _constructor(_meaning))


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a mapping of JSON, whose keys must differ."""
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise _twice(key)
        content[key] = value
    return content


def _twice(key: Any, place: str = "") -> BadInput:
    """Make the error about a key that stands twice."""
    return BadInput(
        f"key {key!r} twice{place}", "the keys of a mapping differ", "remove or rename one"
    )


def _check_ending(path: Path, kinds: tuple[str, ...]) -> None:
    """Raise BadInput unless a file's name has one of these endings."""
    if path.suffix not in kinds:
        raise BadInput(
            f"file {path}", f"its name ends in {', '.join(kinds)}", "rename or convert it"
        )


def read(path: Path, *, example: str, kinds: tuple[str, ...] = KINDS) -> Any:
    """Read a YAML or JSON file; its ending, one of ``kinds``, tells which.

    ``example`` says where to look how such a file is written.
    """
    _check_ending(path, kinds)
    with inside(path):
        try:
            text = path.read_text(encoding="utf8")
            return (
                json.loads(text, object_pairs_hook=_mapping)
                if path.suffix == ".json"
                else yaml.load(text, _Loader)
            )
        except BadInput:
            raise
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it isn't UTF-8 text"
            raise BadInput(
                str(reason), "the file must exist and be readable", "check the path"
            ) from None
        except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise BadInput(
                " ".join(str(error).split()), "the file is valid YAML or JSON", example
            ) from None


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a mapping as YAML or JSON, so that :func:`read` gives the same, to the last bit of
    every number.
    """
    _check_ending(path, KINDS)
    if path.suffix == ".json":
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    else:
        text = yaml.dump(
            content,
            Dumper=_Dumper,
            default_flow_style=None,
            sort_keys=False,
            allow_unicode=True,
            width=math.inf,
        )
    save(path, text)


def save(path: Path, content: str | bytes | memoryview, *, new: bool = False) -> None:
    """Write a file whole or not at all, even if the process is killed, the disk is full, or another
    process writes it.

    The content, text as UTF-8, goes to a partial file of a random name in the same folder first,
    which then takes the file's name. A link is followed; a device or a pipe is written to directly.
    ``new`` refuses a name that is taken.

    If the content can't be written, :class:`NotWritten` is raised, and an older file is unchanged.
    If it was written and can't take the name, it stays under the one that the error gives.
    """
    PATH("file", path)
    content = content.encode() if isinstance(content, str) else content
    with _reported(path):
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        target = _followed(path)
        partial = _written(target, content)
    try:
        _publish(partial, target, new)
    except OSError as error:
        taken = new and isinstance(error, FileExistsError)
        rule = (
            "another process wrote it meanwhile, and it is never overwritten"
            if taken
            else "the file can be written"
        )
        value = f"file {path}" if taken else f"file {path}: {error.strerror}"
        raise BadInput(value, rule, f"what was to be stored is kept: rename {partial}") from None


def try_new(path: Path) -> None:
    """Do with an empty file what :func:`save` will do with a new one, and leave nothing behind:
    only a try shows it.
    """
    PATH("file", path)
    with _reported(path):
        target = _followed(path)
        partial = _written(target, b"")
        try:
            _publish(partial, target, new=True)
            target.unlink()
        except FileExistsError:
            raise BadInput(
                f"file {path}", "a stored run is never overwritten", "name another file"
            ) from None
        finally:
            partial.unlink(missing_ok=True)


def keep(path: Path, content: str | bytes | memoryview, *, new: bool = False) -> None:
    """Save what took long to compute, as :func:`save` does, and don't lose it where its file can't
    be written.

    It goes to the temporary folder then, and the `BadInput` names the file there. If that can't be
    written either, it waits in memory until one of the two can.
    """
    for attempt in itertools.count():
        try:
            return save(path, content, new=new)
        except NotWritten as error:
            refused = error
        try:
            spare = Path(tempfile.gettempdir(), f"{secrets.token_hex(4)}-{path.name}")
            save(spare, content)
        except (OSError, NotWritten):
            if not attempt:
                waits = "the result waits in memory: make room, or give it up with Ctrl-C"
                print(f"scansnap: {refused.value}: {waits}", file=sys.stderr, flush=True)
            time.sleep(WAIT_SECONDS)
        else:
            raise BadInput(
                refused.value, refused.rule, f"the result is kept in {spare}: move it to its place"
            )


class NotWritten(BadInput):
    """A file that can't be written: the disk is full, or its folder isn't there or isn't one's
    own.
    """


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn an OSError, such as that of a full disk, into `NotWritten` that names the file."""
    try:
        yield
    except OSError as error:
        value = f"file {path}: {error.strerror}"
        raise NotWritten(
            value, "the file can be written", "make room or name another file"
        ) from None


def _followed(path: Path) -> Path:
    """Return the path to which links lead."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return target


def _written(target: Path, content: bytes | memoryview) -> Path:
    """Write the content to the disk, not only on its way there, and return the partial file.

    It has a random name beside the target, so that processes don't write into each other's.
    """
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    with partial.open("xb") as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    return partial


def _publish(partial: Path, target: Path, new: bool) -> None:
    """Give a partial file its name at once, so that nobody reads half a file.

    With ``new`` a name that is taken raises `FileExistsError`; a hard link does that without a
    moment between looking and taking. Else an older file is replaced, whose mode stays.
    """
    if not new:
        if target.exists():
            partial.chmod(target.stat().st_mode)
        partial.replace(target)
        return
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    # Memory sticks and some network file systems have no hard links: take the name, then fill it.
    except OSError:
        target.open("xb").close()
        try:
            partial.replace(target)
        except BaseException:
            target.unlink()
            raise
    partial.unlink(missing_ok=True)


TEXT = Rule(lambda value: isinstance(value, str), "it is a text", "put it in quotes")
COUNT = Rule(
    lambda value: is_whole(value) and value > 0, "it is a whole number, from 1 on", "correct it"
)
LIST = Rule(lambda value: isinstance(value, list), "it is a list", "correct it")
MAPPING = Rule(
    lambda value: isinstance(value, dict), "it is a mapping of keys to values", "correct it"
)


def list_of(rule: Rule, says: str, least: int = 0) -> Rule:
    """Ask for a list of different values that keep a rule, and for at least a number of them."""

    def right(values: Any) -> bool:
        """Tell whether it is such a list."""
        each = isinstance(values, list | tuple) and all(rule.holds(value) for value in values)
        return each and least <= len(values) == len(set(values))

    return Rule(right, says, "correct it")


class Entry:
    """Takes values out of a mapping that people write, and names the one that is missing or wrong.

    Parameters
    ----------
    place
        Where the mapping stands, as messages call it.
    value
        The mapping; None is an empty one.
    keys
        The keys that it may have; any, if none are given.
    required
        The keys that it has, whether or not they are asked for; none, if none are given.
    example
        Where to look how such a mapping is written, said where it isn't one or lacks a key.

    Examples
    --------
    >>> values = {"says": "it grows", "number": 0}
    >>> take = Entry("C1", values, ("says", "number", "note"))
    >>> take("says", TEXT), take("note", TEXT, "")
    ('it grows', '')
    >>> try:
    ...     take("number", COUNT)
    ... except BadInput as error:
    ...     print(error)
    C1.number = 0: it is a whole number, from 1 on; correct it
    """

    def __init__(
        self,
        place: str,
        value: Any,
        keys: Collection[str] = (),
        *,
        required: Collection[str] = (),
        example: str = MAPPING.remedy,
    ) -> None:
        """Keep the mapping, or raise BadInput if it is none, or has a key too many or too few."""
        self.place = place
        self.values = {} if value is None else value
        replace(MAPPING, remedy=example)(place, self.values)
        if unknown := [key for key in self.values if keys and key not in keys]:
            raise BadInput(
                f"{place}: key {shown(unknown[0])}",
                "there is no such key",
                f"use {', '.join(keys)}",
            )
        if lacking := [key for key in required if key not in self.values]:
            raise BadInput(f"{place}: no key {lacking[0]!r}", "it is required", example)

    def __call__(self, key: str, rule: Rule, default: Any = None) -> Any:
        """Return a key's value, a text in one line; without a value, or with an empty text, the
        default.
        """
        value = self.values.get(key)
        value = " ".join(value.split()) if isinstance(value, str) else value
        if value is not None and value != "":
            rule(f"{self.place}.{key}", value)
            return value
        if default is None:
            missing = (
                ("a reader must learn it", "say it in a few words")
                if rule is TEXT
                else (rule.says, "add it")
            )
            raise BadInput(f"{self.place}.{key}", *missing)
        return default


@contextmanager
def inside(path: Path) -> Iterator[None]:
    """Put the file's name into every BadInput about its content."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"file {path}: {error.value}", error.rule, error.remedy) from None
