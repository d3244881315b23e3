"""Counting: which share of a space flips, exactly or with a stated confidence."""
