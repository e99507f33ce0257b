"""The recorder: sees every operation a rank issues, and can say at any moment where it stands.

It stands at the two places every operation passes: the operators c10d::... of the dispatcher
(calls from Python, DDP, FSDP, DTensor and functional collectives alike) and Work.wait.  An
operation that repeats costs a look-up in a table; its facts are written down once.

snapshot() may be called from any thread.  Where it cannot be (the process has died, or holds the
GIL) the black box, a mapped file, still has the last operations; see blackbox.py.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from . import sites
from .blackbox import BlackBox
from .callers import TORCH, Place, caller, owner
from .calls import CALLS, METHODS, REDUCTIONS, Call, Told, of_method, of_operator
from .history import expand
from .operations import POINT_TO_POINT

LOG_LIMIT = 200_000
TAIL = 32
LOOKED_AT = 4  # Works that each operation asks whether they are over
MOST_PENDING = 256  # some Works never say that they are over
_KEY = "TESTING_ONLY_GenericMode"
_KEY_NUMBER = torch._C._dispatch_key_parse(_KEY)
_KEYS = torch._C.DispatchKeySet(_KEY_NUMBER)
_HIDDEN = torch._C._ExcludeDispatchKeyGuard


class Recorder:
    """Records the operations of this process, rank `rank` of `size`.

    path: where the black box lies; None for none.
    install() starts, remove() puts torch back as it was.
    """

    def __init__(self, rank: int, size: int, path: str | None = None):
        self.rank, self.size = rank, size
        self.state = ""  # the launcher may set "finished" or "failed"
        self.signatures: list[dict[str, Any]] = []
        self.counts: list[int] = []
        # An entry s >= 0: signature s was issued; s < 0: the Work of issue number -s - 1 was waited
        # for.  Issues count from `dropped`.
        self.log: list[int] = []
        self.dropped = 0
        self.issued = 0
        self.firsts: dict[str, int] = {}
        self.groups: dict[str, list[int]] = {}
        self._index: dict[Any, int] = {}
        self._kept: list[Any] = []  # code objects whose identity stands in a key
        self._pending: dict[int, tuple[Any, int, bool]] = {}  # the last: on a GPU
        self._current: int | None = None
        self._on_gpu = False  # the operation issued last
        self._failed: set[int] = set()
        self._sources: dict[int, int] = {}
        self._undo: list[Callable[[], None]] = []
        self._box = BlackBox(path, rank) if path else None

    # ---- installing

    def install(self) -> None:
        """Start recording.  Call after the process group exists."""
        # A dispatch key that nothing else uses, above all others: it is passed through by every
        # operator but these.  Taking the place of the backend's own kernel would be simpler, but
        # the kernel could then only be called with the GIL held, and a thread of gloo may need it.
        everything = torch.library.Library("_", "IMPL")
        everything.fallback(torch.library.fallthrough_kernel, _KEY)
        operators = torch.library.Library("c10d", "IMPL")
        for operator, call in CALLS.items():
            self._intercept(operators, operator, call)
        torch._C._dispatch_tls_set_dispatch_key_included(_KEY_NUMBER, True)
        self._undo.append(everything._destroy)
        self._undo.append(operators._destroy)
        self._undo.append(
            lambda: torch._C._dispatch_tls_set_dispatch_key_included(_KEY_NUMBER, False)
        )
        for kind in (c10d.Work, *c10d.Work.__subclasses__()):
            if "wait" in vars(kind):
                self._patch(kind, "wait", self._waiting)
        for method, operator in METHODS.items():
            self._patch(c10d.ProcessGroup, method, self._shorten(CALLS[operator]))
        # Is an operator of another form: it gives no Work.
        self._patch(c10d.ProcessGroup, "monitored_barrier", self._monitored)
        self._patch(c10d, "_new_group_with_tag", self._grouping)
        self._patch(c10d, "_warn_not_in_group", self._outsider)

    def remove(self) -> None:
        """Stop recording."""
        while self._undo:
            self._undo.pop()()

    def _intercept(self, library: Any, operator: str, call: Call) -> None:
        """See an operator of the dispatcher, whoever calls it."""
        invoke = getattr(torch.ops.c10d, operator).default
        unbox_work, unbox_group = c10d.Work.unbox, c10d.ProcessGroup.unbox

        def kernel(*args: Any) -> Any:
            issue = self._issue(call, unbox_group(args[call.group]), of_operator(call, args))
            try:
                with _HIDDEN(_KEYS):
                    result = invoke(*args)
            except BaseException:
                self._give_up(issue)
                raise
            boxed = result[-1] if type(result) is tuple else result
            if boxed is not None:
                self._started(unbox_work(boxed), issue)
            return result

        library.impl(operator, kernel, _KEY)

    def _shorten(self, call: Call) -> Callable[[Any], Any]:
        """See a method of ProcessGroup: the way of calls from Python, at a tenth of the cost."""

        def wrap(original: Any) -> Any:
            def method(group: Any, *args: Any, **kwargs: Any) -> Any:
                told = of_method(call, (*args, *kwargs.values()))
                if told is None:
                    return original(group, *args, **kwargs)  # seen as an operator
                issue = self._issue(call, group, told)
                try:
                    with _HIDDEN(_KEYS):
                        work = original(group, *args, **kwargs)
                except BaseException:
                    self._give_up(issue)
                    raise
                if work is not None:
                    self._started(work, issue)
                return work

            return method

        return wrap

    def _give_up(self, issue: int) -> None:
        self._failed.add(issue)
        self._current = None

    def _started(self, work: Any, issue: int) -> None:
        self._pending[id(work)] = (work, issue, self._on_gpu)

    def _patch(self, holder: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        before = vars(holder)[name]  # of a class: still without its instance
        setattr(holder, name, wrap(getattr(holder, name)))
        self._undo.append(lambda: setattr(holder, name, before))

    # ---- recording

    def _issue(self, call: Call, group: Any, told: Told) -> int:
        """Write an operation down before it starts; its issue number."""
        if self._pending:
            self.release()
        via, places = caller(sys._getframe(2))
        sent, received, *rest = told
        asynchronous = told.asynchronous
        if asynchronous is None:
            asynchronous = via in ("isend", "irecv", "batch_isend_irecv")
        shapes = [t.shape for t in sent]
        if received is not sent:
            shapes += [None, *[t.shape for t in received]]
        some = sent or received
        dtype = some[0].dtype if some else None
        self._on_gpu = bool(some) and some[0].is_cuda
        where = [id(code) ^ line for code, line in places]
        key = (call.name, group.group_name, via, dtype, asynchronous, *where, *shapes, *rest)
        signature = self._index.get(key)
        if signature is None:
            facts = _facts(call, told, group, self._ranks(group))
            facts |= _whence(via, places) | {"async": asynchronous}
            signature = self._sign(key, facts)
            self._kept += places
        return self._log(signature, not asynchronous)

    def _sign(self, key: Any, facts: dict[str, Any]) -> int:
        signature = self._index[key] = len(self.signatures)
        self.signatures.append(facts)
        self.counts.append(0)
        if self._box:
            self._box.sign(facts)
        return signature

    def _log(self, signature: int, blocking: bool) -> int:
        issue = self.issued
        self.issued += 1
        self.counts[signature] += 1
        self.log.append(signature)
        self._current = issue if blocking else None
        if self._box:
            self._box.write(signature)
        if len(self.log) > LOG_LIMIT:
            self._forget()
        return issue

    def _forget(self) -> None:
        """Drop the older half of the log; the counts of a group go on from there."""
        half = len(self.log) // 2
        old, self.log = self.log[:half], self.log[half:]
        issues = [s for s in old if s >= 0]
        for signature in issues:
            facts = self.signatures[signature]
            if facts.get("numbered"):
                group = facts["group_id"]
                self.firsts[group] = self.firsts.get(group, 0) + 1
        self.dropped += len(issues)

    def release(self) -> None:
        """Let go of the Work of operations that are over, and with it of their tensors."""
        for handle, (work, *_) in list(islice(self._pending.items(), LOOKED_AT)):
            entry = self._pending.pop(handle, None)
            if entry is not None and not work.is_completed() and len(self._pending) < MOST_PENDING:
                self._pending[handle] = entry  # to the end: the others get their turn

    def _ranks(self, group: Any) -> list[int]:
        name = group.group_name
        ranks = self.groups.get(name)
        if ranks is None:
            try:
                ranks = dist.get_process_group_ranks(group)
            except (KeyError, ValueError):  # a group made without torch's book-keeping
                ranks = list(range(group.size()))
            self.groups[name] = ranks
        return ranks

    def _waiting(self, original: Any) -> Any:
        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            known = self._pending.get(id(work))
            if known is None:
                return original(work, *args, **kwargs)
            issue = known[1]
            if self._current != issue:
                self.log.append(-issue - 1)
            self._current = issue
            try:
                result = original(work, *args, **kwargs)
            except BaseException:
                self._failed.add(issue)
                raise
            finally:
                self._current = None
                # NCCL's wait returns before the operation is over; some of gloo's operations never
                # say that they are.
                if not known[2] or issue in self._failed or work.is_completed():
                    self._pending.pop(id(work), None)
            return result

        return wait

    def _blocking(self, facts: dict[str, Any], run: Callable[[], Any]) -> Any:
        """Record an operation that is no operator of the dispatcher, and run it."""
        key = repr(facts)
        signature = self._index.get(key)
        issue = self._log(self._sign(key, facts) if signature is None else signature, True)
        try:
            return run()
        except BaseException:
            self._failed.add(issue)
            raise
        finally:
            self._current = None

    def _monitored(self, original: Any) -> Any:
        def monitored_barrier(group: Any, *args: Any, **kwargs: Any) -> Any:
            facts = _plain("monitored_barrier", group.group_name, self._ranks(group))
            return self._blocking(facts, lambda: original(group, *args, **kwargs))

        return monitored_barrier

    def _grouping(self, original: Any) -> Any:
        def _new_group_with_tag(ranks: Any = None, *args: Any, **kwargs: Any) -> Any:
            world = dist.group.WORLD
            everybody = self._ranks(world)
            wanted = sorted(ranks) if ranks is not None else everybody
            if kwargs.get("use_local_synchronization"):
                facts = _plain("new_group", f"new_group{wanted}", wanted)
            else:
                facts = _plain("new_group", world.group_name, everybody)
            facts["shape"] = list(wanted)
            made = self._blocking(facts, lambda: original(ranks, *args, **kwargs))
            if isinstance(made, c10d.ProcessGroup):
                self._ranks(made)
            return made

        return _new_group_with_tag

    def _outsider(self, original: Any) -> Any:
        def _warn_not_in_group(name: str) -> Any:
            facts = _plain(name, "", []) | {"outsider": True, "numbered": False}
            key = repr(facts)
            signature = self._index.get(key)
            self._log(self._sign(key, facts) if signature is None else signature, False)
            return original(name)

        return _warn_not_in_group

    # ---- telling

    def position(self) -> list[int] | None:
        """[operations issued, the one that is waited in], None in none.  Costs nothing."""
        current = self._current
        return None if current is None else [self.issued, current]

    def snapshot(self) -> dict[str, Any]:
        """Where this rank stands, as plain data; see operations.py for an operation's fields."""
        main = threading.main_thread().ident or 0
        frame = sys._current_frames().get(main)
        busy = {issue for work, issue, _ in list(self._pending.values()) if not work.is_completed()}
        current = self._current
        if current is None and busy and frame is not None and owner(frame.f_code) is TORCH:
            current = min(busy)  # waits inside C++, as at the end of DDP's backward
        log = list(self.log)
        operations = expand(self.signatures, log, self.firsts, self.dropped)
        for operation in operations:
            if operation["index"] in busy or operation["index"] in (current, *self._failed):
                operation["done"] = False
        here = _whence(*caller(frame))["site"]
        now = next((o for o in reversed(operations) if o["index"] == current), None)
        recent = operations[-TAIL:]
        unfinished = [o for o in operations[:-TAIL] if not o["done"]]
        return {
            "rank": self.rank,
            "state": self.state or ("outside" if now is None else "inside"),
            "current": now,
            "here": here,
            "operations": unfinished + recent,
            "unfinished": [o["index"] for o in operations if not o["done"]],
            "signatures": list(self.signatures),
            "counts": list(self.counts),
            "totals": [
                facts | {"count": count} for facts, count in zip(self.signatures, self.counts)
            ],
            "log": log,
            "firsts": dict(self.firsts),
            "dropped": self.dropped,
            "stack": sites.frames(frame),
            "groups": {name: list(ranks) for name, ranks in self.groups.items()},
        }


def _plain(name: str, group: str, ranks: list[int]) -> dict[str, Any]:
    return _whence(*caller(sys._getframe(2))) | {
        "name": name, "group_id": group, "group": list(ranks), "numbered": True, "async": False,
    }  # fmt: skip


def _whence(via: str, places: Sequence[Place]) -> dict[str, Any]:
    """Site, trail and torch function of a call, as plain data."""
    found = [[code.co_filename, line, "", code.co_name] for code, line in places]
    return {"site": found[0] if found else ["", 0, "", ""], "trail": found[1:], "via": via}


def _bytes(tensors: Sequence[Any]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


def _facts(call: Call, told: Told, group: Any, ranks: list[int]) -> dict[str, Any]:
    """What does not change when the same line issues the same operation again."""
    root, peer = told.root, told.peer
    some = told.sent or told.received
    goes_in = _bytes(told.sent)
    hands_in = root is None or group.rank() == root or call.name in ("reduce", "gather")
    return {
        "name": call.name,
        "numbered": call.name not in POINT_TO_POINT,
        "group_id": group.group_name,
        "group": list(ranks),
        "shape": list(some[0].shape) if some else [],
        "dtype": str(some[0].dtype).removeprefix("torch.") if some else "",
        "sent": [t.numel() for t in told.sent],
        "received": [t.numel() for t in told.received],
        "bytes": goes_in if hands_in else 0,
        "size": max(goes_in, _bytes(told.received)),
        "root": None if root is None else ranks[root],
        "peer": None if peer is None else ranks[peer],
        "tag": told.tag,
        "reduce": "" if told.reduce is None else REDUCTIONS[told.reduce],
        "splits": [list(side) for side in told.splits],
    }
