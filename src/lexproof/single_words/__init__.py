"""Single words: which words of a vocabulary break a classifier when they replace one word of a text (kappa, rho)."""
