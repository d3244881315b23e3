"""Data: texts and labels from csv, tsv, jsonl, json and parquet files, and from named sets."""

from lexproof.data.dataset import BadRow, Dataset
from lexproof.data.reading import read

__all__ = ["BadRow", "Dataset", "read"]
