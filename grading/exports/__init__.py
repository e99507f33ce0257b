"""What leaves the grader: one module a format, each a pure function from rows to text or bytes.

    gradescope  a results.json for each student
    canvas      the gradebook CSV that Canvas exported, with one column filled
    moodle      the same of Moodle, also its grading worksheet
    lti         score messages as JSON lines

Points that nobody knows are left blank everywhere; they never become a zero.  Text that a student
may have written never becomes a formula, markup or a script.
"""
