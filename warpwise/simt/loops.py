"""Lowering of loops: `while`, and what it has in common with `for`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import branches, endings, joins, rotation, typing
from .flow import Edge, Loop
from .lowering import Again
from .names import FUNCTION_EXITS, has, may_leave_body
from .packing import plan
from .program import Lines, flattened
from .tape import record

if TYPE_CHECKING:
    from .statements import Function


def loop_body(
    fl: Function, node: ast.While | ast.For, mask: str, test: Callable[[], None]
) -> tuple[Lines, Loop]:
    """Lower a loop's body, repeating until the types at its head no longer change.

    `test` emits what stands at the head: the condition, or the assignment of the variable.
    """
    entry = joins.edge_here(fl)
    head = dict(fl.env)
    visits = fl.visits.copy()
    while True:
        fl.visits = visits.copy()
        temporaries, returned = fl.temporaries, list(fl.returned)
        variables = dict(fl.variables)
        again = f"again_{fl.temporaries}" if has(node, ast.Continue) else ""
        loop = Loop(mask, head, again)
        if node.orelse:
            loop.broke = f"broke_{mask}"
        fl.loops.append(loop)
        outer_lines, outer_mask = fl.lines, fl.mask
        fl.lines, fl.mask, fl.env = [], mask, dict(head)
        fl.depth += 1
        fl.segment = None
        if again:
            fl.emit(f"{again} = False")
        test()
        fl.lines.append(loop.inside)
        end = fl.suite(node.body)
        edges = [joins.edge_here(fl)] if end is not None else []
        edges += loop.continues
        lines = fl.lines
        fl.depth -= 1
        fl.lines, fl.mask = outer_lines, outer_mask
        fl.loops.pop()
        merged = joins.merge(fl, [Edge(head, [], 0, ""), *edges], node)
        if merged == head:
            for edge in edges:
                joins.move(fl, edge, head)
            joins.move(fl, entry, head)
            return lines, loop
        # Types, or names, that the body adds at the head: lower the body again with them.
        head = merged
        fl.temporaries, fl.returned = temporaries, returned
        fl.variables = variables


def finish_loop(
    fl: Function, node: ast.While | ast.For, loop: Loop, lines: Lines, *own: str
) -> bool:
    """Join the ways out of a loop and take returned lanes out of the mask."""
    before: Lines = []
    after: Lines = []
    fl.lines.insert(len(fl.lines) - 1, before)  # in front of the loop's own line
    fl.lines.append(lines)
    if own:  # the last look of a `for` at its range, at which all others leave: still packed
        fl.branch_site(node, "False", f"{own[0]}.left")
    fl.lines.append(after)
    done = Edge(loop.head, [], fl.depth, fl.mask)
    fl.env = joins.merge(fl, [done, *loop.breaks], node)
    if any(fl.env[n].type != v.type for n, v in loop.head.items() if n in fl.env):
        # Lanes that left by break bring their own values; the others are converted here.
        broke = fl.temporary("m")
        before.append("    " * fl.depth + f"{broke} = False")
        for edge in loop.breaks:
            edge.lines.append("    " * edge.depth + f"{broke} = both({broke}, {edge.mask})")
        rest = fl.temporary("m")
        fl.emit(f"{rest} = minus({fl.mask}, {broke})")
        joins.move(fl, done, fl.env, rest)
    for edge in loop.breaks:
        joins.move(fl, edge, fl.env)
    pack_loop(fl, loop, lines, before, after, own)
    fl.lines.append(done.lines)
    if has(node, *FUNCTION_EXITS):
        fl.emit(f"{fl.mask} = minus({fl.mask}, lanes_gone)")
    if loop.broke:
        before.append("    " * fl.depth + f"{loop.broke} = False")
        return _loop_else(fl, node, loop)
    return True


def pack_loop(
    fl: Function, loop: Loop, lines: Lines, before: Lines, after: Lines, own: tuple[str, ...]
) -> None:
    """Let the lanes that go on be packed, where the loop is arithmetic alone.  own: the names
    of a for loop's range and of what it gives."""
    numbers = {v for (_, kind), v in fl.variables.items() if typing.is_number(kind)}
    others = set(fl.variables.values()) - numbers
    found = plan(flattened(lines), numbers, others, {loop.mask, *own})
    if found is None:
        return
    if (loop.spin or loop.over) and not found[0]:
        tape_loop(fl, loop, lines, before, *found[1:])
    packing = fl.temporary("packing")
    state = ", ".join("(" + "".join(f"{n}, " for n in names) + ")" for names in found)
    names = "".join(f"{n}, " for part in found for n in part)
    indent = "    " * fl.depth
    before.append(f"{indent}{packing} = Packing(rt)")
    loop.inside.append(f"{indent}    if {packing}.due({loop.mask}):")
    loop.inside.append(
        f"{indent}        {loop.mask}, {names}= {packing}.pack({loop.mask}, {state})"
    )
    if own:
        loop.inside.append(f"{indent}        {own[0]}.pack({packing})")
    after.append(f"{indent}{names or '_ '}= {packing}.unpack({state})")


def tape_loop(
    fl: Function, loop: Loop, lines: Lines, before: Lines, changed: list[str], kept: list[str]
) -> None:
    """Let strips of lanes run the rest of a loop when lanes leave it, where there is a tape."""
    dtypes = {
        name: typing.numpy_dtype(kind) for (_, kind), name in fl.variables.items()
        if name in changed or name in kept
    }  # fmt: skip
    if any(name not in dtypes for name in changed + kept):
        return
    over = loop.over
    if over is not None:
        dtypes |= {over.value: over.dtype, f"{over.lanes}.stop": over.dtype}
        changed, kept = [over.value, *changed], [*kept, f"{over.lanes}.stop"]
    indent = "    " * (fl.depth + 1)
    loop.inside.append(f"{indent}pass")
    found = record(
        flattened(lines), loop.mask, {n: dtypes[n] for n in changed}, {n: dtypes[n] for n in kept},
        fl.program.constants, over,
    )  # fmt: skip
    loop.inside.pop()
    if found is None:
        return
    tape = fl.temporary("tape")
    before.append(
        f"{'    ' * fl.depth}{tape} = {fl.program.constant(found)}.begin(rt, {loop.spin or None})"
    )
    first, second = ("(" + "".join(f"{n}, " for n in names) + ")" for names in (changed, kept))
    names = "".join(f"{n}, " for n in changed)
    loop.inside += [
        f"{indent}if {tape}.due({loop.mask}):",
        f"{indent}    {loop.mask}, {names}= {tape}.run({loop.mask}, {first}, {second})",
    ]
    if over is not None:
        loop.inside.append(f"{indent}    {over.lanes}.mask, {over.lanes}.left = {loop.mask}, False")
    loop.inside.append(f"{indent}    if {loop.mask} is False: break")


def _loop_else(fl: Function, node: ast.While | ast.For, loop: Loop) -> bool:
    """`else` of a loop: for the lanes that did not break."""
    rest, others = fl.temporary("m"), fl.temporary("m")
    fl.emit(f"{rest} = minus({fl.mask}, {loop.broke})")
    fl.emit(f"{others} = minus({fl.mask}, {rest})")
    before = dict(fl.env)
    lines, edge = joins.branch(fl, rest, node.orelse, before)
    fl.emit(f"if {rest} is not False:")
    fl.lines.append(lines)
    other = Edge(before, [], fl.depth, others)
    fl.lines.append(other.lines)
    fl.env = joins.join(fl, [edge, other] if edge is not None else [other], node)
    fl.emit(f"{fl.mask} = both({rest}, {others})")
    return True


def lower_while(fl: Function, node: ast.While) -> bool:
    if node in fl.rotated:
        return branches.lower_if(fl, fl.rotated[node])
    entry = dict(fl.env)
    mask = fl.temporary("m")
    fl.emit(f"{mask} = {fl.mask}")
    spin = fl.temporary("spin")
    where = (fl.source.name, node.lineno, fl.source.line_text(node.lineno))
    deciding, memory = endings.of_loop(node)
    fl.emit(f"{spin} = Spin(rt, {where!r}, {memory})")

    def test() -> None:
        condition = fl.truth(fl.expression(node.test), node.test)
        if not (condition.known and condition.const):
            left = fl.temporary("m") if fl.program.counted else "_"
            fl.emit(f"{mask}, {left} = split({mask}, {condition.code})")
            fl.branch_site(node, mask, left)
            fl.emit(f"if {mask} is False: break")

    known = len(fl.program.sites)
    lines, loop = loop_body(fl, node, mask, test)
    if rotation.parts(fl, node, entry, loop.head):
        rotation.rotate(fl, node)
        raise Again
    ops = {site.op for site in fl.program.sites[known:]}
    if fl.program.specialised or ops & {"load", "atomic"}:
        fl.program.waits = True
        in_test = any(isinstance(n, ast.Subscript) for n in ast.walk(node.test))
        fl.program.polls |= in_test or "atomic" in ops
    indent = "    " * (fl.depth + 1)
    if loop.again:
        lines.append(f"{indent}{mask} = both({mask}, {loop.again})")
    if may_leave_body(node):
        lines.append(f"{indent}if {mask} is False: break")
    changed = {v for (n, _), v in fl.variables.items() if n in deciding}
    state = "".join(f"{name}, " for name in sorted(changed))
    tick = f"{spin}.tick(({state}{mask},))"
    if fl.program.serial:  # let the other warps go on
        tick = f"if {tick}: yield ('spin', {spin}, {mask}, 0)"
    lines.append(f"{indent}{tick}")
    fl.emit("while True:")
    loop.spin = spin
    return finish_loop(fl, node, loop, lines)
