"""What the paper says: closed forms, the linear algebra of overlaps, flows, and what is read off a training."""
