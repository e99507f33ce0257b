"""A Triton kernel as an answer: rebuilt from its text, of which only tile code is taken.

Triton's interpreter runs a kernel as Python.  So nothing may stand in the text but arithmetic on
parameters, locals and constants, functions of triton.language, methods of tensors, and helpers of
the same kind: no import, no attribute of anything else, no name of Python's but a few safe ones.
What is left out, Triton's compiler refuses as well.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

from grading.answers import Answer, Definition
from grading.kernels import KernelSource, binding, function_behind, globals_of
from warpwise.simt.errors import at_line
from warpwise.tiles import TileError

MAX_BITS = 64  # of an integer
NAME = "answer"  # of the module; the same for all, so that compiled code is found again
#: The last two change nothing here: a launch gives every constant.
_DECORATORS = ("jit", "autotune", "heuristics")

_STATEMENTS: tuple[type[ast.AST], ...] = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.For, ast.While, ast.If, ast.Return,
    ast.Pass, ast.Break, ast.Continue, ast.Assert,
)  # fmt: skip
_EXPRESSIONS: tuple[type[ast.AST], ...] = (
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple,
    ast.List, ast.Subscript, ast.Slice, ast.Call, ast.keyword, ast.Starred, ast.Attribute,
    ast.ListComp, ast.comprehension, ast.JoinedStr, ast.FormattedValue, ast.expr_context,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
#: What a constant beside the kernel may be made of; `tl.constexpr(...)` is the only call.
_CONSTANTS: tuple[type[ast.AST], ...] = (
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.Call, ast.Attribute,
    ast.expr_context, ast.operator, ast.unaryop,
)  # fmt: skip
_BUILTINS: dict[str, Any] = {
    one.__name__: one for one in (range, min, max, float, int, bool, len, abs, print)
}
#: Not functions of tiles: other modules, classes of Triton's own, code of other languages.
_NOT_OF_TL = frozenset({
    "extra", "target_info", "tensor", "tensor_descriptor", "block_type", "constexpr_type", "tuple",
    "slice", "to_tensor", "condition", "inline_asm_elementwise", "map_elementwise",
})  # fmt: skip
_OF_TRITON = frozenset(["cdiv", "next_power_of_2", "language"])
#: Of tensors, types and constants, besides the methods that tensors have.
_PROPERTIES = frozenset({
    "dtype", "shape", "type", "numel", "T", "element_ty", "scalar", "value", "primitive_bitwidth",
    "is_ptr", "is_block", "is_floating", "is_int", "is_int_signed", "is_int_unsigned", "is_fp16",
    "is_fp32", "is_fp64", "is_bf16", "is_fp8", "ALL", "NONE",
})  # fmt: skip
_number = itertools.count(1)


def tile_source(
    answer: Answer, definitions: Sequence[Definition], course: Sequence[Definition] = ()
) -> KernelSource | None:
    """The text to run for `answer`, or None when no `def` stands behind the name.

    Constants stay in the text where it spells them out.  definitions, course: as for a kernel of
    Numba's.
    """
    main = function_behind(answer.definition, definitions)
    if main is None or main.function is None:
        return None
    everything = [*course, *definitions]
    jitted = main is not answer.definition and not main.function.decorator_list
    texts = ["@triton.jit\n" * jitted + main.text]
    imports = dict.fromkeys(["import triton"] * jitted)
    constants: dict[int, str] = {}
    wanted: list[str] = []
    seen = {main.name}
    waiting = _globals(main.text, main.function)
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        bound = binding(name, everything, main)
        if bound is None:
            continue
        if bound.function is not None:
            texts.append(bound.text)
            waiting.extend(_globals(bound.text, bound.function))
        elif isinstance(bound.statement, ast.Import | ast.ImportFrom):
            imports[ast.unparse(bound.statement)] = None
        elif bound.value is not None and _is_constant(bound.value):
            constants[everything.index(bound)] = f"{name} = {ast.unparse(bound.value)}"
            waiting.extend(_names(bound.value))
        else:
            wanted.append(name)
    # The answer comes first, so that line 1 of a message is the first line of the function.
    text = "\n".join([*texts, *imports, *(constants[place] for place in sorted(constants))])
    return KernelSource(main.name, text, {}, tuple(wanted))


def _globals(text: str, function: ast.FunctionDef) -> list[str]:
    """Global names that a function reads, and those that stand around it."""
    given = function.args
    around: list[ast.AST | None] = [*function.decorator_list, *given.defaults, *given.kw_defaults]
    around += [one.annotation for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    found = [*globals_of(text), *(name for node in around if node for name in _names(node))]
    return sorted(set(found))


def _names(tree: ast.AST) -> list[str]:
    return sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})


def _is_constant(value: ast.expr) -> bool:
    """Whether the text says the value: numbers, types of tl, and constants made of them."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if name != "constexpr" or node.keywords:
                return False
        elif not isinstance(node, _CONSTANTS):
            return False
    return True


def tile_kernel(source: KernelSource, constants: Mapping[str, Any]) -> Any:
    """The kernel of `source` under Triton's own decorator, or a plain function where it has none.

    constants: values of the names that `source` wanted.  Raises TileError for whatever is not tile
    code, before any of it has run.
    """
    import triton

    module = ast.parse(source.text)
    lines = source.text.split("\n")
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    imports = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    rest = [node for node in module.body if node not in functions and node not in imports]
    scope: dict[str, Any] = {**constants, "__builtins__": _BUILTINS, "__name__": NAME}
    decorators: dict[str, str] = {}
    for node in imports:
        for name, value in _imported(node):
            if name in ("__builtins__", "__name__"):
                continue
            if isinstance(value, str):
                decorators[name] = value
            else:
                scope[name] = value
    rules = Rules(source.name, lines, scope, decorators)
    for name, value in constants.items():
        if not _is_number(value):
            text = f"{source.name}: {name} is a {type(value).__name__}, and no number for a kernel."
            raise TileError(text, "compilation")
    jitted = {one.name for one in functions if rules.is_jit(one)}
    for one in functions:
        rules.check_function(one)
        one.decorator_list = []
    for constant in rest:
        rules.check(constant)
    place = f"<answer {next(_number)}>"
    linecache.cache[place] = (len(source.text), None, [f"{line}\n" for line in lines], place)
    exec(compile(ast.Module([*rest, *functions], []), place, "exec", dont_inherit=True), scope)
    for one in functions:
        made = scope[one.name]
        if one.name in jitted:
            made = scope[one.name] = triton.jit(made)
        _as_checked(source.name, one, made)
    return scope[source.name]


def _is_number(value: Any) -> bool:
    """A number, or what Triton takes beside numbers: text, None, tuples, a number as constexpr."""
    if isinstance(value, tuple):
        return all(map(_is_number, value))
    wrapped = getattr(value, "value", None) if type(value).__name__ == "constexpr" else value
    return wrapped is None or type(wrapped) in (int, float, bool, str)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Any]]:
    """(name, module or function of Triton's) of an import, a decorator as its name; all others
    stay unknown."""
    import triton
    import triton.language as tl

    modules: dict[str, ModuleType] = {"triton": triton, "triton.language": tl}
    for alias in node.names:
        own = alias.asname or alias.name
        if isinstance(node, ast.Import):
            if alias.name in modules:
                yield (own, modules[alias.name]) if alias.asname else ("triton", triton)
            continue
        if node.module == "warpwise.tiles" and alias.name in ("triton", "tl"):
            yield own, triton if alias.name == "triton" else tl
        module = modules.get(node.module or "")
        if module is None or node.level:
            continue
        if module is triton and alias.name in _DECORATORS:
            yield own, alias.name
        elif alias.name in _members(module):
            yield own, getattr(module, alias.name)


def _members(module: ModuleType) -> frozenset[str]:
    """The names of a module that a kernel may use."""
    import triton
    import triton.language as tl

    if module is triton:
        return _OF_TRITON
    if module is tl:
        return frozenset(tl.__all__) - _NOT_OF_TL
    if module is tl.math:
        return frozenset(vars(tl.math)) & frozenset(tl.__all__)
    return frozenset()


class Rules:
    """The whitelist for one text.

    scope: its modules and constants.  decorators: names under which Triton's are imported.
    """

    def __init__(
        self, kernel: str, lines: Sequence[str], scope: Mapping[str, Any],
        decorators: Mapping[str, str],
    ) -> None:  # fmt: skip
        import triton.language as tl

        self.kernel, self.lines = kernel, lines
        self.scope, self.decorators = scope, decorators
        methods = {name for name in vars(tl.tensor) if not name.startswith("_")}
        self.attributes = frozenset(methods) | _PROPERTIES

    def is_jit(self, function: ast.FunctionDef) -> bool:
        """Whether @triton.jit stands above it.  Raises TileError for decorators of others."""
        import triton

        found = False
        for decorator in function.decorator_list:
            node = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = ""
            if isinstance(node, ast.Name):
                name = self.decorators.get(node.id, "")
            elif isinstance(node, ast.Attribute) and self._module(node.value) is triton:
                name = node.attr
            if name not in _DECORATORS:
                step = "Leave it out: a kernel is judged as it is written below its decorator."
                raise self.refused(decorator, f"@{ast.unparse(node)[:60]} is not Triton's", step)
            found = found or name == "jit"
        return found

    def check_function(self, function: ast.FunctionDef) -> None:
        """Parameters, what stands beside them, and the body."""
        self._name(function, function.name)
        given = function.args
        names = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        for one in (given.vararg, given.kwarg):
            if one is not None:
                raise self.refused(one, f"*{one.arg} takes any number of arguments")
        annotations = [one.annotation for one in names if one.annotation is not None]
        defaults = [one for one in (*given.defaults, *given.kw_defaults) if one is not None]
        returned = [function.returns] if function.returns is not None else []
        for one in names:
            self._name(one, one.arg)
        for node in (*annotations, *defaults, *returned):
            if not _is_constant(node):
                raise self.refused(node, f"{ast.unparse(node)[:60]} is no constant")
            self.check(node)
        for statement in function.body:
            self.check(statement)

    def check(self, node: ast.AST) -> None:
        """Raise TileError at the first part of `node` that is not tile code."""
        if not isinstance(node, _STATEMENTS + _EXPRESSIONS):
            raise self.refused(node, f"{_called(node)} is no part of a Triton kernel")
        if isinstance(node, ast.Name):
            self._name(node, node.id)
        elif isinstance(node, ast.keyword):
            if node.arg is None or node.arg.startswith("_"):
                raise self.refused(node, f"{node.arg or '**'} is no argument that a kernel gives")
        elif isinstance(node, ast.Constant):
            self._constant(node)
        elif isinstance(node, ast.Attribute):
            if self._of_module(node):
                return
            self._attribute(node)
        for part in ast.iter_child_nodes(node):
            self.check(part)

    def _name(self, node: ast.AST, name: str) -> None:
        if "__" in name or name in ("_to_tensor", "_outer"):
            raise self.refused(node, f"the name {name} is not one that a kernel may use")

    def _constant(self, node: ast.Constant) -> None:
        value = node.value
        plain = value is None or value is Ellipsis or isinstance(value, bool | float | str)
        if not plain and not (isinstance(value, int) and value.bit_length() <= MAX_BITS):
            raise self.refused(node, f"{str(value)[:40]} is no constant of a Triton kernel")

    def _attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            raise self.refused(node, f"{ast.unparse(node)[:60]} cannot be changed")
        if node.attr not in self.attributes:
            raise self.refused(node, f"a tensor has no {node.attr}")

    def _of_module(self, node: ast.Attribute) -> bool:
        """Whether it is a name of a module of Triton's that may be used."""
        module = self._module(node.value)
        usable = module is not None and node.attr in _members(module)
        return usable and isinstance(node.ctx, ast.Load)

    def _module(self, node: ast.AST) -> ModuleType | None:
        """The module that a name or a path leads to."""
        if isinstance(node, ast.Name):
            found = self.scope.get(node.id)
        elif isinstance(node, ast.Attribute):
            holder = self._module(node.value)
            inside = holder is not None and node.attr in _members(holder)
            found = getattr(holder, node.attr) if inside else None
        else:
            found = None
        return found if isinstance(found, ModuleType) else None

    def refused(self, node: ast.AST, fact: str, step: str = "") -> TileError:
        """The error for a part of the text, with its line."""
        number = getattr(node, "lineno", 1)
        text = self.lines[number - 1].strip() if number <= len(self.lines) else ""
        step = step or "Use parameters, constants, functions of tl and methods of tensors."
        said = at_line(self.kernel, number, text, fact, step)
        return TileError(said, "compilation", line=number)


def _called(node: ast.AST) -> str:
    """What to call a construct: its own name in Python's grammar, in words."""
    names = {
        "Lambda": "a lambda", "Dict": "a dictionary", "FunctionDef": "a function inside",
        "Try": "try", "With": "with", "Import": "an import", "ImportFrom": "an import",
        "NamedExpr": "x := y", "ClassDef": "a class", "Raise": "raise", "Global": "global",
    }  # fmt: skip
    return names.get(type(node).__name__, type(node).__name__)


def _as_checked(kernel: str, checked: ast.FunctionDef, made: Any) -> None:
    """What Triton and the interpreter will read of the function is what was checked."""
    plain = made if isinstance(made, FunctionType) else made.fn
    try:
        read = ast.parse(textwrap.dedent("".join(inspect.getsourcelines(plain)[0]))).body
        compiled = read if made is plain else made.parse().body
    except (OSError, SyntaxError, IndentationError, AssertionError):
        read = compiled = []
    for body in (read, compiled):
        one = body[0] if len(body) == 1 else None
        if isinstance(one, ast.FunctionDef):
            one.decorator_list = []
        if one is None or ast.dump(one) != ast.dump(checked):
            text = f"{kernel}: the source of {checked.name} cannot be read back as it stands."
            raise TileError(text, "source")
