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

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from scansnap_core.book.stored import read_stored
from scansnap_core.extras import needs
from scansnap_core.ledger.display import VERDICT_CLASS
from scansnap_core.ledger.entries import FAILS_AS_PRINTED, HOLDS, HOLDS_UNDER_A_CONDITION, OPEN
from scansnap_core.ledger.markup import render
from scansnap_core.ledger.pages import Page

if TYPE_CHECKING:
    import networkx as nx

Point = tuple[float, float]
Edge = tuple[str, str]

_TEMPLATE = Path(__file__).with_name("templates") / "graph.svg"
_WIDTH, _HEIGHT = 150, 62
_COLUMN, _ROW = 164, 106
_MARGIN = 8
_LEGEND_ROW = 30
_LEGEND_COLUMN = 224
TITLE_CHARACTERS = 23


def graph_svg(book: Path, page_url: Callable[[str], str]) -> str:
    """Draw the graph of the statements.

    An edge leads from a statement to one that rests on it. An edge that a longer path implies isn't drawn.

    Parameters
    ----------
    book : Path
        The folder with the table of contents and the chapters.
    page_url : callable
        From a statement's id to its page's address.

    Returns
    -------
    str
        An ``svg`` element.

    Raises
    ------
    BadInput
        If the folder, the table of contents or a notebook can't be read, or a page is registered wrongly.
    """
    stored = read_stored(book)
    places, routes = _layout(drawn_graph(stored.statements))
    bottom = max(y for _, y in places.values()) + _HEIGHT
    nodes = []
    for statement in stored.statements.values():
        verdict, full = stored.verdict_of(statement.id), statement.id in stored.fully_verified
        nodes.append(
            {
                "page": statement,
                "url": page_url(statement.id),
                "x": places[statement.id][0],
                "y": places[statement.id][1],
                "css": f"{VERDICT_CLASS[verdict]}{' ss-full' if full else ''}",
                "says": f"{verdict}, fully verified" if full else verdict,
                "lines": textwrap.wrap(statement.title, TITLE_CHARACTERS),
            }
        )
    return render(
        _TEMPLATE,
        width=max(x for x, _ in places.values()) + _WIDTH / 2 + _MARGIN,
        height=bottom + 3 * _LEGEND_ROW + _MARGIN,
        margin=_MARGIN,
        box={"width": _WIDTH, "height": _HEIGHT},
        nodes=nodes,
        edges=[
            ("ss-uses" if ground in stored.pages[statement].uses else "ss-proof-uses", _curve(points))
            for (ground, statement), points in routes.items()
        ],
        legend={"top": bottom + _LEGEND_ROW, "row": _LEGEND_ROW, "column": _LEGEND_COLUMN},
        swatches=[(VERDICT_CLASS[v], v) for v in (HOLDS, HOLDS_UNDER_A_CONDITION, FAILS_AS_PRINTED, OPEN)],
    )


def drawn_graph(statements: Mapping[str, Page]) -> "nx.DiGraph[str]":
    """The statements, with an edge from each ground to what rests on it, but for those that a longer path implies."""
    with needs("book"):
        import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(statements)
    graph.add_edges_from((ground, s.id) for s in statements.values() for ground in (*s.uses, *s.proof_uses))
    return nx.transitive_reduction(graph)


def _layout(graph: "nx.DiGraph[str]") -> tuple[dict[str, Point], dict[Edge, list[Point]]]:
    """Where each node's top centre lies, and the points through which each edge runs."""
    with needs("book"):
        import igraph

    ids = list(graph)
    edges = [(ground, statement) for statement in ids for ground in ids if graph.has_edge(ground, statement)]
    drawn = igraph.Graph([(ids.index(a), ids.index(b)) for a, b in edges], n=len(ids), directed=True)
    layers = _layers(graph)
    layout = drawn.layout_sugiyama(layers=[layers[statement] for statement in ids], maxiter=1000)
    left = min(x for x, _ in layout.coords)

    def place(point: Point) -> Point:
        return (point[0] - left) * _COLUMN + _WIDTH / 2 + _MARGIN, point[1] * _ROW + _MARGIN

    places = {statement: place(layout.coords[i]) for i, statement in enumerate(ids)}
    routes = {}
    for ends, bends in zip(edges, layout.edge_routing, strict=True):
        routes[ends] = [places[ends[0]], *(place(bend) for bend in bends), places[ends[1]]]
    return places, routes


def _layers(graph: "nx.DiGraph[str]") -> dict[str, int]:
    """A layer for each statement: below all its grounds, and otherwise as low as what rests on it allows.

    The lowest layer keeps edges short, whereas igraph's own choice would put all that rests on nothing into one row.
    """
    with needs("book"):
        import networkx as nx

    layers = {s: layer for layer, together in enumerate(nx.topological_generations(graph)) for s in together}
    for statement in reversed(list(layers)):
        layers[statement] = min((layers[f] - 1 for f in graph.successors(statement)), default=layers[statement])
    return layers


def _curve(points: list[Point]) -> str:
    """A curve that leaves each point downwards, so that it passes between the nodes of a row and not through them."""
    x, y = points[0]
    path = [f"M{x:.0f} {y + _HEIGHT:.0f}"]
    y += _HEIGHT
    for next_x, next_y in points[1:]:
        middle = (y + next_y) / 2
        path.append(f"C{x:.0f} {middle:.0f} {next_x:.0f} {middle:.0f} {next_x:.0f} {next_y:.0f}")
        if (next_x, next_y) != points[-1]:
            path.append(f"V{next_y + _HEIGHT:.0f}")
        x, y = next_x, next_y + _HEIGHT
    return "".join(path)
