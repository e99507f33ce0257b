"""Which source makes which notebook, and what happens to notebooks that nothing makes."""

import pytest

from warpwise.authoring import AuthoringError, build_lab, canonical_bytes, read_source
from warpwise.authoring.layout import find_orphans, find_products, made_by_builder, select


def test_two_sources_make_three_notebooks(course):
    """A lesson, and a lab with its solution."""
    assert [
        (product.kind, product.target.relative_to(course).as_posix())
        for product in find_products(course)
    ] == [
        ("lesson", "tiers/t1_kernels/t1_01_threads.ipynb"),
        ("solution", "solutions/t1_kernels/t1_01_threads_lab.ipynb"),
        ("lab", "labs/t1_kernels/t1_01_threads_lab.ipynb"),
    ]


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("tiers/t1_kernels/source/threads.py", "A source here is named like 't1_01_topic.py'."),
        ("tiers/t1_kernels/source/t1_02_x.md", "A source here is named like 't1_01_topic.py'."),
        ("tiers/t1_kernels/source/t1_02_x_lab.py", "A source here is named like 't1_01_topic.py'."),
        (
            "solutions/t1_kernels/source/t1_02_x.py",
            "A source here is named like 't1_01_topic_lab.py'.",
        ),
        (
            "tiers/t1_kernels/source/t2_01_x.py",
            "'t2_01_x' does not belong in the folder of 't1_kernels'.",
        ),
    ],
)
def test_a_source_with_a_wrong_name_is_refused(course, name, fact):
    """A file the builder would pass over is an error, or its notebook would be missed."""
    (course / name).write_text("# %%\nx = 1\n")

    with pytest.raises(AuthoringError) as caught:
        find_products(course)

    assert f"{course / name}: {fact}" == str(caught.value)


def test_caches_are_no_sources(course):
    """What Python and editors leave behind is passed over."""
    (course / "tiers/t1_kernels/source/__pycache__").mkdir()
    (course / "tiers/t1_kernels/source/.t1_01_threads.py.swp").write_text("")

    assert len(find_products(course)) == 3


def test_notebooks_without_a_source_are_orphans(course):
    """In all three trees, checkpoints of Jupyter aside."""
    orphan = course / "labs/t1_kernels/t1_09_gone_lab.ipynb"
    hidden = course / "labs/t1_kernels/.ipynb_checkpoints/t1_01_threads_lab-checkpoint.ipynb"
    for path in (orphan, hidden):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")

    assert [orphan] == find_orphans(find_products(course), course)


def test_only_what_the_builder_wrote_under_that_name_is_its_own(course):
    """A learner's duplicate of a lab is not the builder's, though it begins with the same cell."""
    product = find_products(course)[2]
    data = canonical_bytes(build_lab(read_source(product.source)))
    product.target.parent.mkdir(parents=True)
    copy = product.target.with_name("t1_01_threads_lab-Copy1.ipynb")
    broken = product.target.with_name("broken.ipynb")
    product.target.write_bytes(data)
    copy.write_bytes(data)
    broken.write_bytes(b"{")

    assert [made_by_builder(path) for path in (product.target, copy, broken)] == [
        True,
        False,
        False,
    ]


def test_paths_choose_products(course):
    """A source stands for all it makes; a notebook for itself; a folder for what is inside."""
    products = find_products(course)
    lab = products[2]

    assert products[1:] == select(products, [lab.source])
    assert [lab] == select(products, [lab.target])
    assert products[:1] == select(products, [course / "tiers"])


def test_a_path_that_names_nothing_is_refused(course):
    """A mistyped path must not look like success."""
    path = course / "tiers" / "nothing.py"

    with pytest.raises(AuthoringError) as caught:
        select(find_products(course), [path])

    assert f"{path}: No source and no built notebook is here." == str(caught.value)
