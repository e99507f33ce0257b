"""Grade a class: strict parsing, answers taken out by name, a fresh lab, verdicts made elsewhere.

The border of trust.  What a student hands in is text.  Only the source of code cells is taken
from it; the lab around it is built new from the course's own text.  The student's code runs in a
child process and sends back plain data.  References, seeds and verdicts stay in the process that
judges, and that process never executes the student's Python.
"""
