"""Sweeps: grids of runs, the blocks they are made of, and running those here or on a cluster."""
