"""Settings and fixtures of all tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from toys import data_root

settings.register_profile("lexproof", deadline=None, derandomize=True)  # a busy machine is no failure
settings.load_profile("lexproof")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out, and say so, what needs data that is not there."""
    if data_root() is not None:
        return
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(pytest.mark.skip(reason="needs the development data: set LEXPROOF_DATA"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The development data; only for tests marked `data`."""
    root = data_root()
    assert root is not None
    return root
