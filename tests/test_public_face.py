import pytest

import lexproof as lp
from lexproof import registry
from lexproof.errors import UnknownName


def test_all_is_sorted_and_true() -> None:
    assert lp.__all__ == sorted(lp.__all__)
    for name in lp.__all__:
        assert getattr(lp, name) is not None
    assert set(lp.__all__) <= set(dir(lp))


def test_unknown_attributes_are_said_to_be_unknown() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'fnid'"):
        lp.fnid  # noqa: B018


@pytest.mark.parametrize("kind", registry.KINDS)
def test_every_entry_loads(kind: str) -> None:
    for entry in registry.entries(kind).values():
        assert callable(entry.load()), entry
        assert entry.summary


def test_unknown_names_list_what_there_is() -> None:
    with pytest.raises(UnknownName, match=r"unknown attack 'textfoler'; did you mean 'textfooler'\?"):
        registry.get("attacks", "textfoler")
    with pytest.raises(UnknownName, match="unknown kind 'attack'"):
        registry.entries("attack")


def test_a_missing_package_names_the_pip_command() -> None:
    entry = registry.Entry("ghost", "a_package_that_is_not_there.victim:Ghost", "haunts", extra="torch")
    with pytest.raises(lp.MissingExtra, match=r"'ghost' needs 'a_package_that_is_not_there'.*lexproof\[torch\]"):
        entry.load()
