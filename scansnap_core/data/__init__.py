"""Data to train on: sequence classes, the paper's data sets, files of classes, and the audit of the
assumptions.
"""
