"""The frontend: tensors with gradients, and the comps that compute and train them (``cf.tensor``).

    w, x, y = param("w", (2,), values=[0, 0]), data("x", (8, 2)), data("y", (8,))
    loss = mean_squared_error(x @ w, y)
    step = sequence(grad_update(loss), sgd_update(loss, lr=0.1))

A comp is compiled and run by a context. Sums over several losses are one loss: a gradient belongs to the tensor built
first over it.
"""

from counterfoil_spec.programs.comps import sequence
from counterfoil_spec.tensors.code import (
    consume_backprop_code,
    consume_forward_code,
    discard_backprop,
    initialization,
    zero_grads,
)
from counterfoil_spec.tensors.contractions import einsum, matmul, transpose
from counterfoil_spec.tensors.elementwise import (
    add,
    apply,
    cos,
    div,
    equal,
    exp,
    less,
    log,
    maximum,
    minimum,
    mul,
    neg,
    power,
    recip,
    relu,
    sin,
    sqrt,
    stop_gradient,
    sub,
    tanh,
    where,
)
from counterfoil_spec.tensors.leaves import arange, constant, data, leaf, literal, param, random_values
from counterfoil_spec.tensors.networks import (
    attention,
    causal_mask,
    conv2d,
    cross_entropy,
    layer_norm,
    log_softmax,
    masked,
    mean_squared_error,
    one_hot,
    softmax,
)
from counterfoil_spec.tensors.optimizers import clip_grads, sgd_update
from counterfoil_spec.tensors.reductions import extreme, max, max_pool, mean, mean_pool, min, sum
from counterfoil_spec.tensors.running import forward_once, init_params, run_once, sequential_loop, to_routine
from counterfoil_spec.tensors.session import (
    Session,
    closure,
    current_session,
    rewind_to_last_closure,
    session_fault,
)
from counterfoil_spec.tensors.shaping import pad, row, slice_of
from counterfoil_spec.tensors.tensor import Diff, GradSpec, Tensor
from counterfoil_spec.tensors.train import forward, grad_update, trainable_params, zero_params_grads

__all__ = [
    "Diff", "GradSpec", "Session", "Tensor", "add", "apply", "arange", "attention", "causal_mask", "clip_grads",
    "closure", "constant", "consume_backprop_code", "consume_forward_code", "conv2d", "cos", "cross_entropy",
    "current_session", "data", "discard_backprop", "div", "einsum", "equal", "exp", "extreme", "forward",
    "forward_once", "grad_update", "init_params", "initialization", "layer_norm", "leaf", "less", "literal", "log",
    "log_softmax", "masked", "matmul", "max", "max_pool", "maximum", "mean", "mean_pool", "mean_squared_error", "min",
    "minimum", "mul", "neg", "one_hot", "pad", "param", "power", "random_values", "recip", "relu",
    "rewind_to_last_closure", "row", "run_once", "sequence", "sequential_loop", "session_fault", "sgd_update", "sin",
    "slice_of", "softmax", "sqrt", "stop_gradient", "sub", "sum", "tanh", "to_routine", "trainable_params", "transpose",
    "where", "zero_grads", "zero_params_grads",
]  # fmt: skip
