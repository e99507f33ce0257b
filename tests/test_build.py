"""The notebooks in the repository are what their sources say, byte for byte."""

import pytest

from warpwise import curriculum
from warpwise.authoring.layout import COURSE, find_orphans, find_products
from warpwise.authoring.sync import describe, make_plan


@pytest.fixture(scope="module")
def products():
    """All notebooks the sources make; finding none is a failure."""
    found = find_products()
    assert found, "there is no source of a lesson or lab"
    return found


def test_notebooks_equal_their_sources(products):
    """No notebook was edited by hand, and none was forgotten. `make build` mends it."""
    plans = [make_plan(product) for product in products]

    assert [describe(plan, COURSE) for plan in plans if not plan.in_sync] == []


def test_each_unit_gives_a_lesson_a_solution_and_a_lab(products):
    """Three notebooks for each written unit, no more."""
    made = {product.target for product in products}
    wanted = {
        path
        for unit in curriculum.load().written
        for path in (unit.lesson, unit.solution, unit.lab)
    }

    assert wanted == made


def test_no_notebook_is_an_orphan(products):
    """A notebook that no source makes would go stale unseen."""
    assert find_orphans(products) == []


def test_labs_hold_nothing_of_the_answers(products):
    """No marker and no cell tagged `solution`; the rest follows from being equal to the build."""
    labs = [product for product in products if product.kind == "lab"]
    assert labs

    for product in labs:
        text = product.target.read_text(encoding="utf-8")
        assert "BEGIN SOLUTION" not in text
        assert "END SOLUTION" not in text
        assert '"solution"' not in text
