"""Exact minima: the smallest number of swaps that fools a network, found and proven by branch and bound."""
