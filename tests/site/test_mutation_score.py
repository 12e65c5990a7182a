"""The page on trust shows the mutants' record, and says whether the record is still of these sources."""

from __future__ import annotations

import hashlib
import json
import re
from html import escape
from pathlib import Path

import pytest
from mutation_score import CATALOGUE, RECORD, score_html

from scansnap_core import BadInput
from tests.site.book import ROOT

COUNTS = {"mutants": 20003, "equivalent": 3, "killed": 19997, "timeouts": 2, "survived": 1}
SOURCE = b"x = 1\n"
SURVIVOR = "flows.py: return x < 2 -> return x <= 2"


def write_record(root: Path, **counts: int) -> None:
    for file in (RECORD, CATALOGUE):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / CATALOGUE).write_text('MODULES = ("flows", "sweeps.blocks")\n')
    (root / "scansnap_core/sweeps").mkdir(parents=True, exist_ok=True)
    for module in ("flows", "sweeps/blocks"):
        (root / f"scansnap_core/{module}.py").write_bytes(SOURCE)
    part = {"counts": COUNTS | counts, "sha256": hashlib.sha256(SOURCE).hexdigest(), "survivors": []}
    survivors = [SURVIVOR] * (COUNTS | counts)["survived"]
    (root / RECORD).write_text(json.dumps({"flows": part, "sweeps.blocks": part | {"survivors": survivors}}))


def test_the_score_is_counted_and_survivors_are_named(tmp_path: Path) -> None:
    assert "Not measured yet" in score_html(tmp_path)
    write_record(tmp_path)
    page = score_html(tmp_path)
    assert "the tests caught <strong>39,994 of the 40,000</strong> others." in page
    one = ["20,003", "3", "19,997", "2", "1", "19,997 of 20,000"]
    all_ = ["40,006", "6", "39,994", "4", "2", "39,994 of 40,000"]
    assert re.findall(r"<td>(.*?)</td>", page) == one * 2 + all_
    assert f"<code>{escape(SURVIVOR)}</code>" in page
    assert "The lowest score is that of <code>flows</code>, 19,997 of 20,000." in page
    assert not re.search("%|changed|never judged", page)
    write_record(tmp_path, survived=0, killed=19998)
    assert not re.search("no test caught|lowest", score_html(tmp_path))


@pytest.mark.parametrize("change", ["edit", "remove"])
def test_changed_sources_and_modules_that_were_never_judged_are_named(tmp_path: Path, change: str) -> None:
    write_record(tmp_path)
    source = tmp_path / "scansnap_core/sweeps/blocks.py"
    source.write_bytes(b"x = 2\n") if change == "edit" else source.unlink()
    (tmp_path / CATALOGUE).write_text('MODULES = ("law.closed", "flows", "sweeps.blocks", "law.types")\n')
    page = score_html(tmp_path)
    assert (
        "<summary>1 of the 2 judged modules have changed since</summary><p><code>sweeps/blocks.py</code>.</p>" in page
    )
    assert "2 of the 4 modules on the list were never judged" in page
    assert "<p><code>law/closed.py</code>, <code>law/types.py</code>.</p>" in page
    (tmp_path / CATALOGUE).write_text("OPERATORS = ()\n")
    with pytest.raises(BadInput, match="it lists the modules to be judged"):
        score_html(tmp_path)


def test_a_page_shows_the_record(site: Path) -> None:
    assert score_html(ROOT) in (site / "chapters/trust.html").read_text(encoding="utf8")
