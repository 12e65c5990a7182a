"""What every room stands on: how bad input is refused, how files are written, how numbers are
written out, and how progress is told. It knows no mathematics and no paper.
"""
