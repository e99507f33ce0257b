"""Sets up a machine for the course: the environment, and system packages for tests.

Plain Python without third-party imports, because it runs before anything is installed.
"""
