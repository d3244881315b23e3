"""How far words may move in embedding space: the maximal safe radius, from below and from above."""
