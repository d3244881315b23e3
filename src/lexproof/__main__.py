"""`python -m lexproof` is the `lexproof` command."""

from lexproof.cli import main

main()
