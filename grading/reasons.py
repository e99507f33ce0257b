"""The closed lists of the grader: statuses of a row, reasons, and one sentence for each.

A *status* says what an instructor has to do with a row.  A *reason* is a slug for what happened.
The sentences are for the student: what is wrong and what to do next.
"""

from __future__ import annotations

from dataclasses import dataclass

GRADED = "graded"
GRADED_REPAIRED = "graded-repaired"
PARTLY_GRADED = "partly-graded"
NEEDS_HUMAN = "needs-human"
UNREADABLE = "unreadable"
NOT_SUBMITTED = "not-submitted"
GRADER_ERROR = "grader-error"

STATUSES = (
    GRADED,
    GRADED_REPAIRED,
    PARTLY_GRADED,
    NEEDS_HUMAN,
    UNREADABLE,
    NOT_SUBMITTED,
    GRADER_ERROR,
)

# Nobody knows these scores yet, so they are exported blank: a zero would be a verdict.
WITHOUT_POINTS = (NEEDS_HUMAN, GRADER_ERROR)

_AGAIN = "Save the notebook in JupyterLab and hand it in again."

SENTENCES: dict[str, str] = {
    # finding the file
    "not-submitted": "There is no notebook (.ipynb) in this folder.",
    "no-submission": "Nothing was handed in by this student.",
    "not-on-roster": "No student of the roster goes by this name, so {name} was not graded.",
    "several-attempts": "Handed in {count} times; graded was {chosen} ({time}), not {others}.",
    "several-notebooks": "There are {count} notebooks and none is clearly the lab: {names}.",
    "too-many-files": "There are more than {limit} files, and not all were looked at. "
    "Hand in the notebook alone.",
    "not-a-notebook-file": "The file {name} does not end in .ipynb. " + _AGAIN,
    "symlink": "The entry {name} is a symbolic link. Hand in the notebook itself.",
    "not-a-file": "The entry {name} is not a regular file. Hand in the notebook itself.",
    "cannot-open": "The file cannot be opened ({fact}). Hand it in again.",
    "archive-broken": "The archive {name} is damaged ({fact}). "
    "Make it again, or hand in the notebook itself.",
    "archive-locked": "The archive {name} asks for a password. Hand in the notebook itself.",
    "archive-too-large": "The archive {name} holds too much: more than {fact}. "
    "Hand in the notebook itself.",
    "archive-in-archive": "The archive {name} lies too deep in other archives. "
    "Hand in the notebook itself.",
    "two-students": "The file {name} fits two students of the roster: {names}.",
    # reading the file
    "empty": "The file is empty. " + _AGAIN,
    "too-large": "The file has {size} MB and the grader reads at most {limit} MB. "
    "Clear all outputs, save, and hand it in again.",
    "not-utf8": "The file is not UTF-8 text (first bad byte: {position}). " + _AGAIN,
    "merge-conflict": "Line {line} is a Git merge marker ({count} in the file). "
    "Keep one side of each conflict, open the notebook to see that it loads, and hand it in again.",
    "truncated": "The file stops in the middle, at line {line}. " + _AGAIN,
    "not-json": "The file is not a notebook: it is not JSON "
    "(line {line}, column {column}: {fact}). " + _AGAIN,
    "bad-number": "The file holds {fact}, which is not a JSON number. " + _AGAIN,
    "duplicate-keys": 'The file says "{key}" twice in one place, so its meaning is not clear. '
    + _AGAIN,
    "too-deep": "The file is nested more than {limit} levels deep, which no notebook is. " + _AGAIN,
    "bad-characters": "Code cell {cell} holds half of a character pair (a lone surrogate). "
    "Delete that character, save, and hand it in again.",
    "not-a-notebook": "The file is JSON, but not a notebook: {fact}. " + _AGAIN,
    "notebook-version": "The file says notebook format {version}; the grader reads format 4. "
    + _AGAIN,
    "no-code": "The notebook has no code cell.",
    # taking the answers
    "wrong-notebook": "The notebook defines none of this lab's functions ({names}). "
    "Is it another lab?",
    "malformed-cell": "Cell {cell} of the file is malformed and was left out.",
    "byte-order-mark": "The file starts with a byte order mark, which was left out.",
    "invalid-cell": "Code cell {cell} is not valid Python ({fact}) and was left out.",
    "cell-too-complex": "Code cell {cell} is too large or too deeply nested and was left out.",
    "missing-function": "No cell defines {name}, so it gets no points.",
    "in-invalid-cell": "The only definition of {name} is in code cell {cell}, which is not valid "
    "Python ({fact}).",
    "twice-defined": "{name} is defined {count} times; the one in code cell {cell} was graded.",
    # running the notebook
    "timeout": "{place} did not end within {seconds} s and was stopped.",
    "kernel-killed": "{place} killed the kernel ({fact}).",
    "kernel-exited": "{place} ended the kernel (exit code {fact}).",
    "exit-called": "{place} called exit; the rest of that cell did not run.",
    "runner-killed": "{place} killed the program that runs the notebook, or needed more memory "
    "than the machine has.",
    "run-stopped": "The run of the notebook broke off: {place} was the last to start ({fact}).",
    "too-much-disk": "{place} wrote more than {limit} MB of files and was stopped.",
    "too-many-processes": "{place} started more than {limit} processes and was stopped.",
    "out-of-memory": "{place} asked for more than the {limit} MB of memory there are.",
    "too-much-output": "{place} printed more than {limit} MB; the rest was thrown away.",
    "asks-for-input": "{place} asks for input, and nobody is there to type.",
    # the answers that came back
    "undefined": "After the notebook ran there was no {name}: {fact}.",
    "no-answer": "{name} could not be tried, because the run of the notebook was cut short.",
    "malformed-answers": "What came back for {name} is not what the grader's probe writes.",
    "no-kernel": "{name} is not a function whose source the grader can read.",
    "constant-unknown": "{name} uses {fact}, and the grader cannot tell its value.",
    "too-slow": "{name} did not end within {seconds} s in the simulator and was stopped.",
    # the grader's own faults
    "grader-error": "The grader failed on this notebook. This is not the student's fault.",
}


@dataclass(frozen=True)
class Note:
    """Something that happened to a submission: a reason and its finished sentence."""

    reason: str
    sentence: str


def note(reason: str, **facts: object) -> Note:
    """A note with the sentence of `reason`, filled with `facts`."""
    return Note(reason, SENTENCES[reason].format(**facts))


class SubmissionError(Exception):
    """A submission that cannot be graded as it is; carries the reason and the sentence."""

    def __init__(self, reason: str, sentence: str, status: str = UNREADABLE) -> None:
        super().__init__(sentence)
        self.reason = reason
        self.sentence = sentence
        self.status = status


def refusal(reason: str, *, status: str = UNREADABLE, **facts: object) -> SubmissionError:
    """The error to raise for `reason`, its sentence filled with `facts`."""
    return SubmissionError(reason, SENTENCES[reason].format(**facts), status)
