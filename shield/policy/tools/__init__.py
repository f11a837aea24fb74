"""What helps to write policies: coverage by cases, mutants, lint, explanations. Nothing here takes part in a verdict.

All of it works on the trees of conditions and has them compiled by the compiler that judges: there is no second
meaning of a condition to keep in step.
"""
