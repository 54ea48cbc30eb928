#!/usr/bin/env python3
"""Golden vectors for the layers of recurrent and transformer models, forward and backward, by PyTorch in fp64
(Debian: python3-torch).

Writes layer_vectors.safetensors beside this script. Names: "<case>/<tensor>"; "<case>/g" is the gradient given to the
output "<case>/Y", "<case>/d<tensor>" the gradient autograd gives of an input. A case's name carries its attributes.
"""
import math
import pathlib

import torch
from vector_file import numbers, save

torch.manual_seed(20201130)
torch.set_default_dtype(torch.float64)
HERE = pathlib.Path(__file__).parent
tensors = {}


def fp32(x):
    """A real attribute as a device gets it."""
    return float(torch.tensor(x, dtype=torch.float32))


def record(case, function, **inputs):
    """Evaluates function(**inputs) and differentiates it with a random gradient of its result."""
    leaves = {name: x.clone().requires_grad_() for name, x in inputs.items()}
    y = function(**leaves)
    g = numbers(*y.shape)
    y.backward(g)
    tensors.update({f"{case}/{name}": x for name, x in inputs.items()})
    tensors.update({f"{case}/Y": y, f"{case}/g": g})
    tensors.update({f"{case}/d{name}": x.grad for name, x in leaves.items() if x.grad is not None})


def gru_cell(x, h, w_ih, w_hh, b_ih, b_hh):
    cell = torch.nn.GRUCell(x.shape[1], h.shape[1])
    parameters = {"weight_ih": w_ih, "weight_hh": w_hh, "bias_ih": b_ih, "bias_hh": b_hh}
    return torch.nn.utils.stateless.functional_call(cell, parameters, (x, h))


def gru_reset_before(x, h, w_ih, w_hh, b_ih, b_hh):
    """Cho et al. 2014: the reset gate meets h before the product."""
    size = h.shape[1]
    part = lambda t, gate: t[gate * size:(gate + 1) * size]
    pre = lambda gate, state: x @ part(w_ih, gate).T + part(b_ih, gate) + state @ part(w_hh, gate).T + part(b_hh, gate)
    r, z = torch.sigmoid(pre(0, h)), torch.sigmoid(pre(1, h))
    n = torch.tanh(pre(2, r * h))
    return (1 - z) * n + z * h


for batch, inputs, hidden in [(3, 5, 4), (1, 7, 3), (5, 1, 1)]:
    sizes = {"x": numbers(batch, inputs), "h": numbers(batch, hidden), "w_ih": numbers(3 * hidden, inputs, over=128),
             "w_hh": numbers(3 * hidden, hidden, over=128), "b_ih": numbers(3 * hidden), "b_hh": numbers(3 * hidden)}
    record(f"gru_cell_b{batch}", gru_cell, **sizes)
    record(f"gru_reset_before_b{batch}", gru_reset_before, **sizes)


def rms_norm(x, eps, group=None, weight=None):
    shape = x.shape
    x = x.reshape(shape[0], -1, group or shape[1])
    y = (x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()).reshape(shape)
    return y if weight is None else y * weight


for eps in [1e-5, 1.1920928955078125e-07, 0.25]:
    for rows, cols in [(3, 8), (1, 33), (4, 1)]:
        name = f"rms_norm_eps{fp32(eps)!r}_{rows}x{cols}"
        record(name + "_weight", lambda x, weight: rms_norm(x, fp32(eps), None, weight), x=numbers(rows, cols),
               weight=numbers(cols))
        record(name, lambda x: rms_norm(x, fp32(eps)), x=numbers(rows, cols))
record("rms_norm_group4_eps0.0625", lambda x: rms_norm(x, 0.0625, 4), x=numbers(3, 12))


def rope(x, head_dim, rotary, seq, interleaved, inverse, cos, sin):
    """By complex numbers: a pair (x1, x2) times exp(-i angle), the inverse times exp(i angle)."""
    y = x.reshape(-1, seq, x.shape[1] // head_dim, head_dim)
    turned, rest = y[..., :rotary], y[..., rotary:]
    pairs = turned.unflatten(-1, (-1, 2)) if interleaved else turned.unflatten(-1, (2, -1)).transpose(-1, -2)
    factor = torch.complex(cos, sin if inverse else -sin)[None, :, None, :]
    product = torch.complex(pairs[..., 0], pairs[..., 1]) * factor
    product = torch.stack([product.real, product.imag], -1)
    turned = product.flatten(-2) if interleaved else product.transpose(-1, -2).flatten(-2)
    return torch.cat([turned, rest], -1).reshape(x.shape)


for pairing in ["half_split", "interleaved"]:
    for inverse in [0, 1]:
        for batch, seq, heads, head_dim, rotary in [(2, 3, 2, 8, 8), (1, 5, 3, 6, 4), (2, 1, 1, 2, 2)]:
            angle = torch.arange(seq)[:, None] * 10000.0 ** (-torch.arange(0, rotary, 2) / rotary)
            cos, sin = angle.cos(), angle.sin()
            case = f"rope_{pairing}_inverse{inverse}_seq{seq}_dim{head_dim}_rotary{rotary}"
            record(case, lambda x: rope(x, head_dim, rotary, seq, pairing == "interleaved", inverse, cos, sin),
                   x=numbers(batch * seq, heads * head_dim))
            tensors.update({case + "/cos": cos, case + "/sin": sin})

record("head_scale", lambda x, gain: (x.reshape(5, 3, 4) * gain[:, None]).reshape(5, 12), x=numbers(5, 12),
       gain=numbers(3))
record("softcap_cap30.0", lambda x: 30 * torch.tanh(x / 30), x=numbers(3, 7, over=2))
record("softcap_cap1.5", lambda x: 1.5 * torch.tanh(x / 1.5), x=numbers(1, 5))

activations = {"identity": lambda x: x, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu,
               "exp": torch.exp}
for name, activation in activations.items():
    for rows, n, k in [(3, 5, 4), (1, 4, 33), (4, 1, 1)]:
        record(f"linear_{name}_m{rows}", lambda x, w, bias: activation(torch.nn.functional.linear(x, w, bias)),
               x=numbers(rows, k), w=numbers(n, k, over=256), bias=numbers(n))
for ta in "nt":
    for tb in "nt":
        for alpha, beta in [(1.0, 0.0), (0.5, 0.75), (-2.0, 1.0)]:
            a = numbers(*((4, 3) if ta == "t" else (3, 4)))
            b = numbers(*((5, 4) if tb == "t" else (4, 5)))
            left = lambda x: x.T if ta == "t" else x
            right = lambda x: x.T if tb == "t" else x
            case = f"gemm_{ta}{tb}_alpha{alpha}_beta{beta}"
            if beta == 0:
                record(case, lambda a, b: alpha * (left(a) @ right(b)), a=a, b=b)
            else:
                record(case, lambda a, b, c: torch.addmm(c, left(a), right(b), beta=beta, alpha=alpha), a=a, b=b,
                       c=numbers(3, 5))
record("gemm_nn_alpha0.5_beta0.0_batch", lambda a, b: 0.5 * torch.bmm(a, b), a=numbers(2, 3, 4), b=numbers(2, 4, 5))

for max_norm in [1.0, 100.0]:
    case = f"clip_max{max_norm}"
    parameters = []
    for i, shape in enumerate([(3, 5), (7,), (1, 1)]):
        parameter = torch.nn.Parameter(torch.zeros(shape))
        parameter.grad = numbers(*shape)
        tensors[f"{case}/g{i}"] = parameter.grad.clone()
        parameters.append(parameter)
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    tensors[case + "/norm"] = norm.reshape(1)
    tensors.update({f"{case}/clipped{i}": p.grad for i, p in enumerate(parameters)})

save(HERE / "layer_vectors.safetensors", tensors)
