"""Silverman's rule for the width of a kernel."""


def silverman(n_rows: float, n_components: int, gamma: float = 1.0) -> float:
    """Kernel width in units of the spread of the class: gamma * (4 / (k + 2))^(1 / (k + 4)) * n^(-1 / (k + 4))."""
    exponent = 1 / (n_components + 4)
    return float(gamma * (4 / (n_components + 2)) ** exponent * n_rows**-exponent)
