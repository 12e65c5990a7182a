"""What the notebooks are held to: executed, compared, verified, and drawn as the pages of verdicts."""
