"""Real text and generated text as word numbers, and the standard Transformer on them."""
