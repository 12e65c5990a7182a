"""The ledger of skips, and the browser that may not be skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.browser import browser_or_skip

CONFTEST = Path(__file__).with_name("conftest.py").read_text(encoding="utf8")


def test_explained_skip_is_listed(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("import pytest\ndef test_gpu(): pytest.skip('no GPU. To get it: buy one')")
    result = pytester.runpytest()
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["what *test_gpu", "why *no GPU.", "to get it *buy one"])


def test_unexplained_skip_fails(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("import pytest\n@pytest.mark.skip(reason='later')\ndef test_gpu(): pass")
    result = pytester.runpytest()
    assert result.parseoutcomes().get("skipped") is None
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_expected_failure_is_no_skip(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("import pytest\n@pytest.mark.xfail\ndef test_known(): assert False")
    pytester.runpytest().assert_outcomes(xfailed=1)


def test_run_without_skips_says_so(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("def test_one(): pass")
    pytester.runpytest().stdout.fnmatch_lines(["None: every test ran."])


def test_missing_browser_skips_unless_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.delenv("REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="To get it:"):
        browser_or_skip()
    monkeypatch.setenv("REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="REQUIRE_BROWSER"):
        browser_or_skip()
