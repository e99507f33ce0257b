"""Task graphs: the engine against a second one that steps through time, and its messages."""

import random

import pytest

from warpwise.fabric.schedules import Deadlock, ScheduleError, Task, Wait, run


def by_steps(tasks):
    """The same rules, played tick by tick: integer times only."""
    queues = {}
    for task in tasks:
        queues.setdefault(task.resource, []).append(task)
    ends, starts, now = {}, {}, 0
    while any(queues.values()) and now < 10_000:
        for queue in queues.values():
            while queue:
                task = queue[0]
                waits = [w if isinstance(w, Wait) else Wait(w) for w in task.after]
                on = [ends[t.name] for t in tasks if t.resource == task.resource and t.name in ends]
                if any(w.name not in ends or ends[w.name] + w.lag > now for w in waits):
                    break
                if on and max(on) > now:
                    break
                starts[task.name], ends[task.name] = now, now + task.duration
                queue.pop(0)
        now += 1
    return starts, ends


@pytest.mark.parametrize("seed", range(30))
def test_the_engine_starts_tasks_as_a_clock_would(seed):
    draw = random.Random(seed)
    tasks = []
    for number in range(draw.randrange(1, 25)):
        before = draw.sample(range(number), min(number, draw.randrange(3)))
        after = tuple(draw.choice([n, Wait(n, draw.randrange(4))]) for n in before)
        tasks.append(Task(number, draw.randrange(4), draw.randrange(1, 6), after))
    ran = run(tasks)
    starts, ends = by_steps(tasks)
    assert {span.task.name: (span.start, span.end) for span in ran.spans} == {
        name: (starts[name], ends[name]) for name in starts
    }
    assert ran.makespan == max(ends.values())


def test_a_resource_keeps_its_order_even_when_a_later_task_is_ready():
    ran = run([Task("slow", 1, 5), Task("first", 0, 1, ("slow",)), Task("second", 0, 1)])
    assert [(s.task.name, s.start) for s in ran.on(0)] == [("first", 5), ("second", 6)]


def test_what_waits_for_itself_is_a_cycle_with_both_kinds_of_waiting():
    with pytest.raises(Deadlock) as caught:
        run([Task("a", 0, 1, ("d",)), Task("b", 0, 1), Task("c", 1, 1, ("b",)), Task("d", 1, 1)])
    assert str(caught.value).splitlines()[1:] == [
        "  a waits for d",
        "  d stands behind c",
        "  c waits for b",
        "  b stands behind a",
    ]


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([Task("a", 0, 1), Task("a", 1, 1)], "two tasks are called 'a'"),
        ([Task("a", 0, -1)], "the duration of 'a' is a number from 0, not -1"),
        ([Task("a", 0, 1, ("b",))], "'a' waits for 'b', which is no task"),
    ],
)
def test_what_is_no_task_graph_is_refused(tasks, said):
    with pytest.raises(ScheduleError, match=said):
        run(tasks)


def test_nothing_takes_no_time():
    assert run([]).makespan == 0
