"""What leaves the grader: one module a format, each a pure function from rows to text or bytes.

    gradescope  a results.json for each student
    canvas      the gradebook CSV that Canvas exported, with one column filled
    moodle      the same of Moodle, also its grading worksheet
    lti         score messages as JSON lines
    feedback    a page for each student
    dashboard   the class on one page
    items       item analysis: pass rates, correlations, frequent mistakes
    alike       groups of identical wrong answers
    similar     pairs of answers with unusual code in common

Points that nobody knows are left blank everywhere; they never become a zero.  Text that a student
may have written never becomes a formula, markup or a script.
"""
