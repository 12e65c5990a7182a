"""The numbers in prose: how a text quotes one, and how a notebook stores those that its chapter
gives.
"""

import re

NUMBER = re.compile(r'(<data value="([^"]*)">)((?:(?!</?data).)*)(</data>)', re.DOTALL)
"""A number in a text: the tag, the number's name, the number, the tag's end."""
NUMBERS_MIME = "application/vnd.scansnap.numbers+json"
"""The type of the output in which a notebook stores its numbers by name."""
