"""Make the site's fonts: ``python -m tools.site_fonts FOLDER`` reads three npm packages and writes
site/static/fonts.

FOLDER holds what ``npm pack source-sans source-code-pro @fontsource/noto-sans-math`` brings,
unpacked into ``source-sans``, ``source-code-pro`` and ``noto-sans-math``. It needs ``pip install
fonttools brotli``. The licence of all three, the SIL Open Font License 1.1, keeps the name "Source"
for unchanged fonts, so ours have names of their own.
"""

import argparse
from pathlib import Path

from fontTools.subset import Options, Subsetter, save_font
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont

TARGET = Path(__file__).parents[1] / "site/static/fonts"

# The font's name on the site, the file that it is made from, and the file that it becomes.
SANS = (
    "Scansnap Sans",
    "source-sans/package/WOFF2/VF/SourceSans3VF-Upright.ttf.woff2",
    "sans.woff2",
)
ITALIC = (
    "Scansnap Sans",
    "source-sans/package/WOFF2/VF/SourceSans3VF-Italic.ttf.woff2",
    "sans-italic.woff2",
)
MONO = (
    "Scansnap Mono",
    "source-code-pro/package/WOFF2/VF/SourceCodeVF-Upright.ttf.woff2",
    "mono.woff2",
)
SIGNS = (
    "Scansnap Signs",
    "noto-sans-math/package/files/noto-sans-math-latin-400-normal.woff2",
    "signs.woff2",
)

# Whole blocks of characters, so that a word, a letter or a sign that is written tomorrow is there.
LATIN = range(0x20, 0x180)
GREEK = range(0x391, 0x3CA)
PUNCTUATION = range(0x2010, 0x2034)
RAISED_AND_LOWERED = range(0x2070, 0x209D)
ARROWS = range(0x2190, 0x2200)
OPERATORS = range(0x2200, 0x2300)
SHAPES = range(0x25A0, 0x2600)
TICKS_AND_CROSSES = range(0x2700, 0x27C0)
EURO = [0x20AC]
TEXT = {
    *LATIN,
    *GREEK,
    *PUNCTUATION,
    *RAISED_AND_LOWERED,
    *EURO,
    *ARROWS,
    *OPERATORS,
    *SHAPES,
    *TICKS_AND_CROSSES,
}
WEIGHTS = (400, 400, 700)
"""The lightest, the default and the boldest that the site uses."""


def make(folder: Path, name: str, source: str, target: str, characters: set[int]) -> None:
    """Write the part of a font that the site uses, under a name of its own."""
    font = TTFont(folder / source)
    if "fvar" in font:
        font = instantiateVariableFont(font, {"wght": WEIGHTS})

    for record in font["name"].names:
        if record.nameID in (1, 4, 6, 16):
            record.string = name.replace(" ", "") if record.nameID == 6 else name

    # The tables are read as they are needed, which the subsetter can't do from a font that was
    # changed: it is saved.
    font.flavor = None
    changed = TARGET / "changed.ttf"
    font.save(changed)
    font = TTFont(changed, lazy=False)
    changed.unlink()

    features = ["kern", "mark", "mkmk", "ccmp", "locl", "liga", "tnum"]
    options = Options(flavor="woff2", layout_features=features, hinting=False)
    options.name_IDs = [0, 1, 2, 4, 6, 13, 14]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)
    save_font(font, TARGET / target, options)


def main() -> None:
    """Make all four."""
    parser = argparse.ArgumentParser(prog="python -m tools.site_fonts", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    TARGET.mkdir(parents=True, exist_ok=True)

    for name, source, target in (SANS, ITALIC, MONO):
        make(folder, name, source, target, TEXT)

    # The mathematical signs that the text's own font lacks.
    present = set(TTFont(folder / SANS[1]).getBestCmap())
    make(folder, *SIGNS, set(OPERATORS) - present)


if __name__ == "__main__":
    main()
