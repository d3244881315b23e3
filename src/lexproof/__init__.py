"""Lexproof: how robust is a text classifier when words are swapped, and how do you make it hold?"""
