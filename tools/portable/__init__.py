"""The same tests and outputs on machines of other kinds, as far as one machine can play them."""
