"""docs/choices.md has the combinations that preflight accepts, and they do not depend on other choices."""

from itertools import product

import pytest

from tests.validate.choices import OWN_RACK, PAGE, TABLES, page, refusals, values

VARIABLES = (*(TABLES["networks"].rows, TABLES["networks"].columns), *(TABLES["publishing"].rows, TABLES["publishing"].columns))


def test_the_page_has_what_preflight_decides() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run: python -m tests.validate.choices"
    assert all(f"`{value}`" in text for variable in VARIABLES for value in values(variable))


@pytest.mark.parametrize("service", [{}, OWN_RACK], ids=["service", "rack"])
def test_networks_and_publishing_are_independent(service: dict[str, str]) -> None:
    for chosen in product(*map(values, VARIABLES)):
        choices = dict(zip(VARIABLES, chosen, strict=True))
        pairs = [dict(list(choices.items())[:2]), dict(list(choices.items())[2:])]
        assert set(refusals(choices, service)) == {problem for pair in pairs for problem in refusals(pair, service)}, chosen
