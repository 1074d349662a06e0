"""Pictures of models, drawn by the library and with a heading; and the report."""

from melm.model import picture as plot

__all__ = ["plot"]
