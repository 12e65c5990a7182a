"""Storage keeps labelled results that survive a kill, and says where they come from."""
