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
        # Both as they are: an error that is raised in a worker process is made anew from them.
        super().__init__(where, problem)

    def __str__(self) -> str:
        line = " ".join("{}: {}".format(*self.args).split())
        # What a terminal would obey, as the escape sequences of a file's key, is shown instead.
        return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
