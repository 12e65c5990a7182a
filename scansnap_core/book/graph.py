"""The graph of what rests on what, as an inline SVG whose nodes are links.

CSS classes
-----------
``ss-graph``
    The ``svg``, with a ``viewBox`` and its natural size in pixels. No colour is set but through these classes.
``ss-node``
    A statement (``g``), beside its verdict's class (``ss-holds``, ``ss-condition``, ``ss-fails``, ``ss-open``) and
    ``ss-full`` if it is fully verified. In it: ``ss-box`` (``rect``), ``ss-label`` and ``ss-title`` (``text``).
``ss-edge``
    An edge (``path``), beside ``ss-uses`` (the statement itself uses it) or ``ss-proof-uses`` (only its proof does).
``ss-arrow``
    The head of an edge.
``ss-legend``
    The legend (``g``). Its swatches are ``ss-swatch`` (``g``) beside a verdict's class, with an ``ss-box`` inside; its
    samples of edges are ``ss-edge``; its words are ``ss-label``.
"""

import html
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scansnap_core.book.stored import fully_verified, stored_verdicts, verdict_of
from scansnap_core.ledger.display import VERDICT_CLASS
from scansnap_core.ledger.entries import FAILS_AS_PRINTED, HOLDS, HOLDS_UNDER_A_CONDITION, OPEN
from scansnap_core.ledger.statements import STATEMENTS, Page

if TYPE_CHECKING:
    import igraph

Point = tuple[float, float]

_WIDTH, _HEIGHT = 150, 62
_COLUMN, _ROW = 164, 106
_MARGIN = 8
_LINE = 15
_LEGEND_ROW = 30
_LEGEND_COLUMN = 224
TITLE_CHARACTERS = 23


def graph_svg(chapters_dir: Path, page_url: Callable[[str], str]) -> str:
    """Draw the graph of the 25 statements.

    An edge leads from a statement to one that rests on it. An edge that a longer path implies isn't drawn.

    Parameters
    ----------
    chapters_dir : Path
        The folder with the notebooks, for the verdicts.
    page_url : callable
        From a statement's id to its page's address. Statements without a chapter are no links.

    Returns
    -------
    str
        An ``svg`` element.

    Raises
    ------
    BadInput
        If the folder or a notebook can't be read.
    """
    verdicts = stored_verdicts(chapters_dir)
    full = fully_verified(verdicts)
    places, routes = _layout()
    width = max(x for x, _ in places.values()) + _WIDTH / 2 + _MARGIN
    bottom = max(y for _, y in places.values()) + _HEIGHT
    height = bottom + 3 * _LEGEND_ROW + _MARGIN
    nodes = []
    for statement in STATEMENTS.values():
        verdict = verdict_of(verdicts, statement.id)
        classes = f"ss-node {VERDICT_CLASS[verdict]}{' ss-full' if statement.id in full else ''}"
        says = f"{verdict}, fully verified" if statement.id in full else verdict
        node = _node(statement, places[statement.id], classes, says)
        nodes.append(_linked(node, statement, page_url, says) if statement.id in verdicts else node)
    return (
        f'<svg class="ss-graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="group" aria-label="What rests on what: the 25 statements">'
        '<defs><marker id="ss-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="ss-arrow" d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{''.join(_edge(*ends, route) for ends, route in routes.items())}{''.join(nodes)}"
        f"{_legend(bottom + _LEGEND_ROW)}</svg>"
    )


def drawn_edges() -> list[tuple[str, str]]:
    """The edges, from ground to statement, without those that a longer path implies."""
    edges = []
    for statement in STATEMENTS.values():
        grounds = {*statement.uses, *statement.proof_uses}
        implied = set().union(*(_ancestors(ground) for ground in grounds))
        edges += [(ground, statement.id) for ground in STATEMENTS if ground in grounds - implied]
    return edges


def _ancestors(statement_id: str) -> set[str]:
    statement = STATEMENTS[statement_id]
    grounds = {*statement.uses, *statement.proof_uses}
    return grounds.union(*(_ancestors(ground) for ground in grounds))


def _layout() -> tuple[dict[str, Point], dict[tuple[str, str], list[Point]]]:
    """Where each node's top centre lies, and the points through which each edge runs."""
    # Every chapter imports the ledger, and only the page with the graph needs igraph.
    import igraph

    ids, edges = list(STATEMENTS), drawn_edges()
    graph = igraph.Graph([(ids.index(a), ids.index(b)) for a, b in edges], n=len(ids), directed=True)
    layout = graph.layout_sugiyama(layers=_layers(graph), maxiter=1000)
    left = min(x for x, _ in layout.coords)

    def place(point: Point) -> Point:
        return (point[0] - left) * _COLUMN + _WIDTH / 2 + _MARGIN, point[1] * _ROW + _MARGIN

    places = {statement_id: place(layout.coords[i]) for i, statement_id in enumerate(ids)}
    routes = {}
    for ends, bends in zip(edges, layout.edge_routing, strict=True):
        routes[ends] = [places[ends[0]], *(place(bend) for bend in bends), places[ends[1]]]
    return places, routes


def _layers(graph: "igraph.Graph") -> list[int]:
    """A layer for each vertex: below all its grounds, and otherwise as low as what rests on it allows.

    The lowest layer keeps edges short, whereas igraph's own choice would put all that rests on nothing into one row.
    """
    order = graph.topological_sorting()
    layers = [0] * graph.vcount()
    for vertex in order:
        layers[vertex] = max((layers[v] + 1 for v in graph.predecessors(vertex)), default=0)
    for vertex in reversed(order):
        layers[vertex] = min((layers[v] - 1 for v in graph.successors(vertex)), default=layers[vertex])
    return layers


def _node(statement: Page, place: Point, classes: str, says: str) -> str:
    x, y = place
    lines = textwrap.wrap(statement.title, TITLE_CHARACTERS)
    rows = "".join(
        f'<tspan x="{x:.0f}" y="{y + 36 + _LINE * i:.0f}">{html.escape(line)}</tspan>' for i, line in enumerate(lines)
    )
    return (
        f'<g class="{classes}"><title>{html.escape(f"{statement.name}, {statement.title}: {says}")}</title>'
        f'<rect class="ss-box" x="{x - _WIDTH / 2:.0f}" y="{y:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>'
        f'<text class="ss-label" x="{x:.0f}" y="{y + 18:.0f}" text-anchor="middle" font-size="13" font-weight="bold">'
        f'{statement.name}</text><text class="ss-title" text-anchor="middle" font-size="12">{rows}</text></g>'
    )


def _linked(node: str, statement: Page, page_url: Callable[[str], str], says: str) -> str:
    label = html.escape(f"{statement.name}, {statement.title}: {says}")
    return f'<a href="{html.escape(page_url(statement.id))}" aria-label="{label}">{node}</a>'


def _edge(ground: str, statement: str, points: list[Point]) -> str:
    """A curve that leaves each point downwards, so that it passes between the nodes of a row and not through them."""
    kind = "ss-uses" if ground in STATEMENTS[statement].uses else "ss-proof-uses"
    x, y = points[0]
    path = [f"M{x:.0f} {y + _HEIGHT:.0f}"]
    y += _HEIGHT
    for next_x, next_y in points[1:]:
        middle = (y + next_y) / 2
        path.append(f"C{x:.0f} {middle:.0f} {next_x:.0f} {middle:.0f} {next_x:.0f} {next_y:.0f}")
        if (next_x, next_y) != points[-1]:
            path.append(f"V{next_y + _HEIGHT:.0f}")
        x, y = next_x, next_y + _HEIGHT
    return f'<path class="ss-edge {kind}" d="{"".join(path)}" fill="none" marker-end="url(#ss-arrow)"/>'


def _legend(top: float) -> str:
    """The verdicts' swatches in one row, the kinds of edges in the next."""
    items = []
    for column, verdict in enumerate((HOLDS, HOLDS_UNDER_A_CONDITION, FAILS_AS_PRINTED, OPEN)):
        x = _MARGIN + column * _LEGEND_COLUMN
        items.append(
            f'<g class="ss-swatch {VERDICT_CLASS[verdict]}">'
            f'<rect class="ss-box" x="{x}" y="{top:.0f}" width="30" height="18" rx="4"/></g>{_words(x, top, verdict)}'
        )
    top += _LEGEND_ROW
    for column, (kind, meaning) in enumerate(
        (("ss-uses", "the statement uses it"), ("ss-proof-uses", "its proof uses it"))
    ):
        x = _MARGIN + column * _LEGEND_COLUMN
        line = f'd="M{x} {top + 9:.0f}H{x + 30}" fill="none" marker-end="url(#ss-arrow)"'
        items.append(f'<path class="ss-edge {kind}" {line}/>{_words(x, top, meaning)}')
    items.append(_words(_MARGIN + 2 * _LEGEND_COLUMN - 40, top, "An arrow that a longer path implies is left out."))
    return f'<g class="ss-legend">{"".join(items)}</g>'


def _words(x: float, y: float, words: str) -> str:
    return f'<text class="ss-label" x="{x + 40:.0f}" y="{y + 14:.0f}" font-size="13">{words}</text>'
