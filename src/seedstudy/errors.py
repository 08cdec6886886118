"""The one exception that reaches a user as a single line."""


class UserError(Exception):
    """Bad input or a missing prerequisite.

    Parameters
    ----------
    where : object
        The file, and where it applies the line, key, row or column: ``config/default.yaml: margin.value``.
    problem : str
        What is wrong there and what would mend it, in one line.
    """

    def __init__(self, where: object, problem: str) -> None:
        super().__init__(" ".join(f"{where}: {problem}".split()))
