"""Mutation testing: small changes to the modules that numbers and verdicts rest on, with their unit tests as judges.

``python -m tools.mutants`` (``make mutants``) plants each change in a copy of the tree, never in the tree. Cosmic Ray
makes the changes. Modules whose sources and tests stayed as they were aren't judged again.
"""
