"""The one way in which this package refuses bad input."""


class BadInput(ValueError):
    """A value that breaks a rule, said before any work starts.

    Parameters
    ----------
    value : str
        What was given, with its name, such as ``"lr_y = -1"``.
    rule : str
        The rule it breaks, such as ``"a learning rate is positive and finite"``.
    remedy : str
        What to do instead, such as ``"pass e.g. 1.0"``.

    Examples
    --------
    >>> import scansnap_core as ss
    >>> try:
    ...     ss.with_overlap(2, 100, rho=1.5)
    ... except ss.BadInput as error:
    ...     print(error)
    rho = 1.5: probabilities are not negative, so an overlap lies in [0, 1); choose 0 <= rho < 1
    """

    def __init__(self, value: str, rule: str, remedy: str) -> None:
        super().__init__(f"{value}: {rule}; {remedy}")
        self.value = value
        self.rule = rule
        self.remedy = remedy

    def __reduce__(self) -> tuple[type["BadInput"], tuple[str, str, str]]:
        # The default pickles only the message, so the error would not survive the way back from a
        # worker process.
        return type(self), (self.value, self.rule, self.remedy)
