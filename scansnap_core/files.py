"""Files: YAML and JSON as they say it, and the one way in which this package writes a file.

YAML 1.2's numbers and truth values, no key twice, errors that name file and place.

PyYAML reads YAML 1.1: ``1e-1`` as text, ``no`` and ``on`` as truth values, ``010`` as 8, and of two equal keys the last
one. A file of classes may well speak of the words "no" and "on".
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import yaml

from scansnap_core.bad_input import BadInput

_DIGITS = 100
_SCALARS: dict[str, tuple[str, Callable[[str], Any]]] = {  # the core schema of YAML 1.2
    "null": (r"~|null|Null|NULL|", lambda text: None),
    "bool": (r"true|True|TRUE|false|False|FALSE", lambda text: text.lower() == "true"),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", lambda text: _integer(text)),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        lambda text: float(text.replace(".", "") if text[-1:] in ("f", "F", "n", "N") else text),
    ),
}


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"an integer of {len(text):,} characters, {text[:9]}…: {_DIGITS} are enough")
    return int(text, 0 if text[:2] in ("0o", "0x") else 10)


class _Loader(yaml.SafeLoader):
    """YAML 1.2's scalars, and keys that differ."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # type: ignore[misc]

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping, if its keys differ."""
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):  # of others the base class complains
                if key in seen:
                    raise _Repeated(key, f" in line {key_node.start_mark.line + 1}")
                seen.add(key)
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """Puts in quotes what YAML 1.1 or 1.2 would else read as a number or a truth value."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write equal parts out."""
        return True


def _constructor(meaning: Callable[[str], Any]) -> Callable[[_Loader, yaml.ScalarNode], Any]:
    return lambda loader, node: meaning(str(loader.construct_scalar(node)))


for _name, (_pattern, _meaning) in _SCALARS.items():
    for _kind in (_Loader, _Dumper):
        _kind.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})\Z"), None)
    _Loader.add_constructor(f"tag:yaml.org,2002:{_name}", _constructor(_meaning))


class _Repeated(ValueError):
    """A mapping names a key twice."""

    def __init__(self, key: Any, place: str = "") -> None:
        super().__init__(f"key {key!r} twice{place}")


def read(path: Path, *, example: str, kinds: tuple[str, ...] = (".yaml", ".yml", ".json")) -> Any:
    """What a YAML or JSON file says.

    Parameters
    ----------
    path
        The file; its ending tells the format.
    example
        Where to look how such a file is written.
    kinds
        The endings that it may have.

    Raises
    ------
    BadInput
        The file can't be read, isn't valid, or names a key twice in one mapping.
    """
    if path.suffix not in kinds:
        raise BadInput(value=f"file {path}", rule=f"its name ends in {', '.join(kinds)}", remedy="rename or convert it")
    try:
        text = path.read_text(encoding="utf8")
        if path.suffix == ".json":
            return json.loads(text, object_pairs_hook=_mapping)
        return yaml.load(text, _Loader)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it isn't UTF-8 text"
        raise BadInput(
            value=f"file {path}: {reason}", rule="the file must exist and be readable", remedy="check the path"
        ) from None
    except _Repeated as error:
        raise BadInput(
            value=f"file {path}: {error}", rule="the keys of a mapping differ", remedy="remove or rename one"
        ) from None
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        problem = " ".join(str(error).split())
        raise BadInput(value=f"file {path}: {problem}", rule="the file is valid YAML or JSON", remedy=example) from None


def write(path: Path, content: dict[str, Any]) -> None:
    """Write what :func:`read` reads as the same, to the last bit of every number."""
    if path.suffix == ".json":
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    else:
        text = yaml.dump(
            content, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=math.inf
        )
    save(path, text)


def save(path: Path, content: str | bytes | memoryview, *, new: bool = False) -> None:
    """Write a file whole or not at all, whatever kills the process, fills the disk or writes there meanwhile.

    The content goes to a temporary file beside it first. A device or a pipe is written to as it is.

    Parameters
    ----------
    path
        The file; a link is followed.
    content
        Text is written as UTF-8.
    new
        Whether to refuse a name that is taken by now. The content then stays under the name that the error gives.

    Raises
    ------
    BadInput
        The file can't be written, or ``new`` and its name is taken. What stood there before still does.
    """
    content = content.encode() if isinstance(content, str) else content
    target = path.resolve()
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        if path.is_relative_to("/dev") or (target.exists() and not target.is_file()):
            path.write_bytes(content)
            return
        try:
            with partial.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if new:
                os.link(partial, target)
                partial.unlink()
            else:
                if target.exists():
                    partial.chmod(target.stat().st_mode)
                partial.replace(target)
        except FileExistsError:
            rule, kept = "another process wrote it meanwhile, and it is never overwritten", f"rename {partial}"
            raise BadInput(f"file {path}", rule, f"what was to be stored is kept: {kept}") from None
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        value = f"file {path}: {error.strerror}"
        raise BadInput(value, "the file can be written", "make room or name another file") from None


@contextmanager
def inside(path: Path) -> Iterator[None]:
    """Let errors about what a file says name the file."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"file {path}: {error.value}", error.rule, error.remedy) from None


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise _Repeated(key)
        content[key] = value
    return content
