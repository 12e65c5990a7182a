"""What trains: the model with its gradients, the training core, and the compiled kernels."""
