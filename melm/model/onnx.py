"""A model as an ONNX file: projection and densities as standard operators, for runtimes without Python.

Needs the extra `melm[onnx]`. The graph takes `X` (n, d) in double precision, with NaN for missing values in columns
that had some in training, and gives `Z`, `probabilities` and `label`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from melm.extras import check_extra
from melm.model import Model
from melm.objective.potential import whitening_basis
from melm.tables.encoding import Encoder, NumberColumn

OPSET = 17
IR_VERSION = 9


class TextColumns(ValueError):
    """The model has columns of text, which an ONNX file of this graph cannot take."""


def dump(model: Model) -> bytes:
    """The bytes of an .onnx file."""
    check_extra("onnx", "an ONNX file")
    import onnx

    graph = _Graph()
    features = _features(graph, model.encoder, onnx)
    centered = graph.add("Sub", features, graph.constant("offset", model.offset[None, :]))
    Z = graph.add("MatMul", centered, graph.constant("projection", model.projection), name="Z")
    joint = graph.add("Concat", *(_joint(graph, model, code, Z) for code in range(len(model.classes))), axis=1)
    graph.add("Softmax", joint, axis=1, name="probabilities")
    winner = graph.add("ArgMax", joint, axis=1, keepdims=0)
    graph.add("Gather", graph.constant("classes", _labels(model.classes)), winner, axis=0, name="label")
    content: bytes = _proto(graph, model, onnx).SerializeToString()
    return content


def _features(graph: _Graph, encoder: Encoder | None, onnx: Any) -> str:
    """The features from the columns of X: missing values, which are NaN, take the median and are flagged."""
    if encoder is None:
        return "X"
    numbers = [column for column in encoder.columns if isinstance(column, NumberColumn)]
    if len(numbers) < len(encoder.columns):
        raise TextColumns("The model has columns of text; an ONNX file takes numbers only.")
    missing = graph.add("IsNaN", "X")
    medians = np.array([[column.median for column in numbers]])
    filled = graph.add("Where", missing, graph.constant("medians", medians), "X")
    flags = graph.add("Cast", missing, to=onnx.TensorProto.DOUBLE)
    both = graph.add("Concat", filled, flags, axis=1)
    places = [j + offset for j, c in enumerate(numbers) for offset in ((0, len(numbers)) if c.has_gaps else (0,))]
    return graph.add("Gather", both, graph.constant("places", np.array(places)), axis=1)


def _joint(graph: _Graph, model: Model, code: int, Z: str) -> str:
    """log(prior * density) of one class at each row, as a column: a log-sum-exp over its kernels.

    In coordinates where the kernel is round, -|q - u|^2 / 2 = q.u - |u|^2 / 2 - |q|^2 / 2.
    """
    densities = model.densities
    basis = whitening_basis(densities.smoothing[code])
    U = densities.rows[code] @ basis
    weights = np.full(len(U), 1 / len(U)) if densities.weights is None else densities.weights[code]
    with np.errstate(divide="ignore"):
        constant = (
            np.log(weights)
            + np.log(densities.priors[code])
            + np.linalg.slogdet(basis)[1]
            - U.shape[1] / 2 * np.log(2 * np.pi)
            - np.square(U).sum(axis=1) / 2
        )
    Q = graph.add("MatMul", Z, graph.constant(f"basis_{code}", basis))
    products = graph.add("MatMul", Q, graph.constant(f"kernels_{code}", np.ascontiguousarray(U.T)))
    shifted = graph.add("Add", products, graph.constant(f"shift_{code}", np.maximum(constant, -1e300)[None, :]))
    total = graph.add("ReduceLogSumExp", shifted, axes=[1], keepdims=1)
    own = graph.add("ReduceSumSquare", Q, axes=[1], keepdims=1)
    return graph.add("Sub", total, graph.add("Mul", own, graph.constant("half", np.array([[0.5]]))))


def _labels(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels in a type that ONNX supports."""
    if classes.dtype.kind in "US":
        return classes.astype(object)
    return classes if classes.dtype.kind in "bf" else classes.astype(np.int64)


class _Graph:
    """Nodes and constants, in the order in which they were added."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
        self.constants: dict[str, npt.NDArray[Any]] = {}

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        self.constants[name] = value
        return name

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        output = name or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append((operator, list(inputs), output, attributes))
        return output


def _proto(graph: _Graph, model: Model, onnx: Any) -> Any:
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    labels = helper.np_dtype_to_tensor_dtype(np.dtype(_labels(model.classes).dtype))
    if model.classes.dtype.kind in "US":
        labels = onnx.TensorProto.STRING
    d, k = len(model.columns), model.projection.shape[1]
    made = helper.make_graph(
        [helper.make_node(operator, inputs, [output], **a) for operator, inputs, output, a in graph.nodes],
        "melm",
        [helper.make_tensor_value_info("X", double, ["n", d])],
        [
            helper.make_tensor_value_info("label", labels, ["n"]),
            helper.make_tensor_value_info("probabilities", double, ["n", len(model.classes)]),
            helper.make_tensor_value_info("Z", double, ["n", k]),
        ],
        [onnx.numpy_helper.from_array(value, name) for name, value in graph.constants.items()],
    )
    proto = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="melm")
    proto.ir_version = IR_VERSION
    onnx.checker.check_model(proto)
    return proto
