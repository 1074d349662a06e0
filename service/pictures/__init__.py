"""Pictures of models, as the library draws them, with what a service says over them; and the report."""

from melm.model import picture as plot

__all__ = ["plot"]
