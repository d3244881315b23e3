"""Attacks: searches for a flip, one a file.  They know points and scores, never a victim."""
