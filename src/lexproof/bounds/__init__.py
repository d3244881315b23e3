"""Linear relaxation of networks: a region of inputs, rules of operations, bounds of margins.  Knows no words."""
