"""How to cite the paper and this software. CITATION.cff has the same in machine-readable form."""

from melm.model.card import Citation

PAPER = (
    "W. M. Czarnecki, R. Jozefowicz, J. Tabor: Maximum Entropy Linear Manifold for Learning Discriminative "
    "Low-Dimensional Representation. ECML PKDD 2015, LNCS 9284, pp. 52-67."
)
SOFTWARE = "The melm developers: melm, maximum entropy linear manifolds as a library and a service, 2026."


def describe_citation() -> Citation:
    """The citations in a card."""
    return Citation(paper=PAPER, software=SOFTWARE)
