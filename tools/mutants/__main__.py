"""``python -m tools.mutants``."""

if __name__ == "__main__":  # a forked process imports this module too, and must not import the package
    import sys

    from tools.mutants.command import main

    sys.exit(main())
