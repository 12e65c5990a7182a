"""The engine trains: the model with its gradients, the training core on Torch, and one compiled
engine.
"""
