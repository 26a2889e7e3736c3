"""`python -m spotter` is `spotter`."""

from spotter.cli.main import main

if __name__ == "__main__":
    main()
