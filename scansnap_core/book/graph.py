"""The graph of what rests on what, as an inline SVG whose nodes are links."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import fmean

from scansnap_core.base.extras import needs
from scansnap_core.book.notebooks import read_stored
from scansnap_core.ledger.display import VERDICT_CLASS, render
from scansnap_core.ledger.registry import Page
from scansnap_core.ledger.verdicts import FAILS_AS_PRINTED, HOLDS, HOLDS_UNDER_A_CONDITION, OPEN

with needs("book"):
    import networkx as nx

Point = tuple[float, float]
Edge = tuple[str, str]
Node = str | tuple[str, str, int]
"""A statement, or the bend of an edge in a layer that it skips."""
Neighbours = Mapping[Node, Iterable[Node]]
Places = dict[Node, float]

_TEMPLATE = Path(__file__).with_name("templates") / "graph.svg"
_WIDTH = 150
_HEIGHT = 77
_COLUMN = 164
_BEND = 40
_ROW = 115
_MARGIN = 8
_LEGEND_ROW = 30
_LEGEND_COLUMN = 224
_LEGEND = 3 * _LEGEND_ROW
_LEGEND_WIDTH = 800
_SWEEPS = 10
TITLE_CHARACTERS = 23
TITLE_LINES = 3
"""A title has room for so many lines of `TITLE_CHARACTERS`."""


def graph_svg(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw the graph of a book's statements as an ``svg`` element; ``page_url`` gives a page's
    address by id.

    An edge leads from a statement to one that rests on it. An edge that a longer path implies isn't
    drawn. A book without statements has a sentence in place of the graph.
    """
    stored = read_stored(book)
    if not stored.statements:
        return '<p class="ss-none">The book has no statement of a paper yet.</p>'
    whole = drawn_graph(stored.statements)
    places, routes = _layout(whole)
    bottom = max(y for _, y in places.values()) + _HEIGHT
    nodes = []
    for statement in stored.statements.values():
        verdict = stored.verdict_of(statement.id)
        full = statement.id in stored.fully_verified
        nodes.append(
            {
                "page": statement,
                "url": page_url(statement.id),
                "x": places[statement.id][0],
                "y": places[statement.id][1],
                "css": f"{VERDICT_CLASS[verdict]}{' ss-full' if full else ''}",
                "says": f"{verdict}, fully verified" if full else verdict,
                "lines": textwrap.wrap(
                    statement.title, TITLE_CHARACTERS, max_lines=TITLE_LINES, placeholder=" …"
                ),
                "grounds": sorted(nx.ancestors(whole, statement.id)),
            }
        )
    return render(
        _TEMPLATE,
        width=max(max(x for x, _ in places.values()) + _WIDTH / 2 + _MARGIN, _LEGEND_WIDTH),
        height=bottom + _MARGIN,
        margin=_MARGIN,
        box={"width": _WIDTH, "height": _HEIGHT},
        nodes=nodes,
        edges=[
            (
                "ss-uses" if ground in stored.pages[statement].uses else "ss-proof-uses",
                (ground, statement),
                _curve(points),
            )
            for (ground, statement), points in routes.items()
        ],
        legend={"top": _MARGIN, "row": _LEGEND_ROW, "column": _LEGEND_COLUMN},
        swatches=[
            (VERDICT_CLASS[v], v) for v in (HOLDS, HOLDS_UNDER_A_CONDITION, FAILS_AS_PRINTED, OPEN)
        ],
    )


def drawn_graph(statements: Mapping[str, Page]) -> nx.DiGraph[str]:
    """Link each ground to the statements that rest on it, by ids, and leave out the edges that a
    longer path implies.
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(statements)
    graph.add_edges_from(
        (ground, s.id) for s in statements.values() for ground in (*s.uses, *s.proof_uses)
    )
    implied = set(graph.edges) - set(nx.transitive_reduction(graph).edges)
    # The reduction itself has its edges in another order from run to run, so the graph keeps its
    # own.
    graph.remove_edges_from(implied)
    return graph


def _layout(graph: nx.DiGraph[str]) -> tuple[dict[str, Point], dict[Edge, list[Point]]]:
    """Find where each node's top centre lies, and the points through which each edge runs.

    A layered drawing (Sugiyama, Tagawa, Toda 1981): an edge that skips layers passes through one
    bend in each.
    """
    layers = _layers(graph)
    rows: list[list[Node]] = [[] for _ in range(max(layers.values()) + 1)]
    for statement, layer in layers.items():
        rows[layer].append(statement)
    chains: dict[Edge, list[Node]] = {}
    links: nx.DiGraph[Node] = nx.DiGraph()
    for ground, statement in graph.edges:
        between = range(layers[ground] + 1, layers[statement])
        chains[ground, statement] = [
            ground,
            *((ground, statement, layer) for layer in between),
            statement,
        ]
        for layer in between:
            rows[layer].append((ground, statement, layer))
        nx.add_path(links, chains[ground, statement])
    links.add_nodes_from(graph)
    for _ in range(_SWEEPS):
        _sort_by_neighbours(rows[::-1], links.succ)
        _sort_by_neighbours(rows, links.pred)
    x = _abscissas(rows)

    def point(node: Node, layer: int) -> Point:
        return x[node], layer * _ROW + _MARGIN + _LEGEND

    routes = {
        ends: [point(node, layers[ends[0]] + i) for i, node in enumerate(chain)]
        for ends, chain in chains.items()
    }
    return {statement: point(statement, layers[statement]) for statement in graph}, routes


def _sort_by_neighbours(rows: list[list[Node]], neighbours: Neighbours) -> None:
    """Order each row, in place, by the mean place of its neighbours in the row before, so that few
    edges cross; a node without neighbours there keeps its place.
    """
    for before, row in itertools.pairwise(rows):
        place = {node: i for i, node in enumerate(before)}
        own = {node: i for i, node in enumerate(row)}
        row.sort(
            key=lambda node: fmean([place[other] for other in neighbours[node]] or [own[node]])
        )


def _abscissas(rows: list[list[Node]]) -> Places:
    """Compute the x of each node's middle, in pixels: the nodes of a row side by side, and the
    rows' middles below one another.

    A statement takes a column, and a bend of an edge less.
    """
    x: Places = {}
    for row in rows:
        halves = [_COLUMN / 2 if isinstance(node, str) else _BEND / 2 for node in row]
        places = [0.0, *itertools.accumulate(a + b for a, b in itertools.pairwise(halves))]
        x |= {node: place - places[-1] / 2 for node, place in zip(row, places, strict=True)}
    left = min(x.values())
    return {node: place - left + _WIDTH / 2 + _MARGIN for node, place in x.items()}


def _layers(graph: nx.DiGraph[str]) -> dict[str, int]:
    """Give each statement a layer: below all its grounds, and otherwise as low as what rests on it
    allows.

    The lowest layer keeps edges short.
    """
    layers = {
        s: layer
        for layer, together in enumerate(nx.topological_generations(graph))
        for s in together
    }
    for statement in reversed(list(layers)):
        layers[statement] = min(
            (layers[f] - 1 for f in graph.successors(statement)), default=layers[statement]
        )
    return layers


def _curve(points: list[Point]) -> str:
    """Write the path of an edge for SVG, through the top centres of the nodes and bends on its way.

    It runs straight down beside a row's nodes, and leaves and reaches each row downwards, so that
    it passes between the nodes.
    """
    x, y = points[0]
    path = [f"M{x:.0f} {y + _HEIGHT:.0f}"]
    y += _HEIGHT
    for next_x, next_y in points[1:]:
        middle = (y + next_y) / 2
        path.append(f"C{x:.0f} {middle:.0f} {next_x:.0f} {middle:.0f} {next_x:.0f} {next_y:.0f}")
        if (next_x, next_y) != points[-1]:
            path.append(f"V{next_y + _HEIGHT:.0f}")
        x = next_x
        y = next_y + _HEIGHT
    return "".join(path)
