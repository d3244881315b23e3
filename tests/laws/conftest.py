from collections.abc import Iterator
from pathlib import Path

import pytest
from tables import KINDS, VICTIMS, endpoint, transformer

from lexproof.victims.base import Victim


@pytest.fixture(scope="session")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Victim]]:
    """One small victim of every kind."""
    folder: Path = tmp_path_factory.mktemp("transformer")
    with endpoint() as service:
        victims = {kind: make() for kind, make in VICTIMS.items()}
        yield {**victims, "transformer": transformer(folder), "endpoint": service}


@pytest.fixture(params=KINDS)
def victim(request: pytest.FixtureRequest, zoo: dict[str, Victim]) -> Victim:
    """Each victim in turn."""
    return zoo[request.param]
