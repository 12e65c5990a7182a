"""The book executes its notebooks, compares and verifies them, and draws the pages of verdicts from
them.
"""
