"""Build the notebooks from their sources.

    python -m warpwise.authoring                  write what differs, delete what no source makes
    python -m warpwise.authoring --execute        also run the lessons whose code changed
    python -m warpwise.authoring --execute --all  run every lesson again
    python -m warpwise.authoring --check          write nothing; say what differs

Exit code: 0 all in order, 1 --check found differences, 2 a bad source or argument, 3 a lesson that
does not run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from warpwise.authoring import index
from warpwise.authoring.errors import AuthoringError, ExecutionError
from warpwise.authoring.layout import (
    COURSE,
    Product,
    find_orphans,
    find_products,
    made_by_builder,
    select,
)
from warpwise.authoring.sync import describe, make_plan, run_lesson, write

OK, DIFFERENT, BAD_SOURCE, NOT_RUNNING = 0, 1, 2, 3
MEND = "The command for it: make build"


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    options = _parser().parse_args(argv)
    if options.all and not options.execute:
        _parser().error("--all goes with --execute")
    if options.check and options.execute:
        _parser().error("--check writes nothing, so it cannot go with --execute")
    root = options.root.resolve()
    try:
        products = find_products(root)
        if not products:
            raise AuthoringError(root, 0, "No sources in tiers/*/source or solutions/*/source.")
        chosen = select(products, options.paths) if options.paths else products
        # With paths given, notebooks elsewhere are nobody's question.
        orphans = [] if options.paths else find_orphans(products, root)
        if options.check:
            return _check(chosen, orphans, root)
        return _build(chosen, orphans, root, options.execute, options.all)
    except AuthoringError as error:
        print(error, file=sys.stderr)
        return BAD_SOURCE
    except ExecutionError as error:
        print(error, file=sys.stderr)
        return NOT_RUNNING


def _check(products: list[Product], orphans: list[Path], root: Path) -> int:
    problems = [describe(plan, root) for plan in map(make_plan, products) if not plan.in_sync]
    for orphan in orphans:
        what = "made by no source" if made_by_builder(orphan) else "not a notebook of the course"
        problems.append(f"{orphan.relative_to(root).as_posix()}: {what}")
    if index.stale(root) is not None:
        problems.append("tiers/index.md: its links are not those of the units that are written")
    if problems:
        print("\n\n".join(problems))
        print(f"\n{len(problems)} of {_count(len(products))} to mend. {MEND}")
        return DIFFERENT
    print(f"{_count(len(products))} checked: as the sources say.")
    return OK


def _build(
    products: list[Product], orphans: list[Path], root: Path, execute: bool, all_lessons: bool
) -> int:
    # Every source is read before anything is written: a bad one leaves the tree as it was.
    plans = [make_plan(product) for product in products]
    written = 0
    for plan in plans:
        name = plan.product.target.relative_to(root).as_posix()
        if plan.product.kind == "lesson" and execute and (plan.stale or all_lessons):
            print(f"running {name}", flush=True)
            plan = run_lesson(plan, root)
        if write(plan):
            written += 1
            print(f"wrote {name}")
        if plan.stale:
            print(f"{name} has no outputs yet: run it with --execute")
    for orphan in orphans:
        name = orphan.relative_to(root).as_posix()
        if made_by_builder(orphan):
            orphan.unlink()
            print(f"deleted {name}: no source makes it")
        else:
            print(f"left {name} alone: it is not the builder's. Move it to mine/ or delete it.")
    page = index.stale(root)
    if page is not None:
        index.page_of(root).write_text(page, encoding="utf-8")
        print("wrote tiers/index.md: its links")
    print(f"{_count(len(plans))}, {written} written.")
    return OK


def _count(number: int) -> str:
    return "1 notebook" if number == 1 else f"{number} notebooks"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m warpwise.authoring",
        description="Build the notebooks of the course from their text sources.",
    )
    parser.add_argument(
        "paths", nargs="*", type=Path, help="sources, notebooks or folders; default all"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if anything differs"
    )
    parser.add_argument("--execute", action="store_true", help="run the lessons whose code changed")
    parser.add_argument("--all", action="store_true", help="with --execute: run every lesson")
    parser.add_argument("--root", type=Path, default=COURSE, help="the course, if not this one")
    return parser


if __name__ == "__main__":
    sys.exit(main())
