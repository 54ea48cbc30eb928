#!/usr/bin/env python3
"""Golden vectors for the references, computed by PyTorch in fp64 (Debian: python3-torch).

Writes gemm_vectors.safetensors and linear_vectors.safetensors beside this script. Names: "<case>/<port>"; a gemm
case's name carries its attributes, for example "tn_alpha0.5_beta0.75_m3n5k7". Inputs are fp64 numbers of few bits
(multiples of 1/64) so that the files compress well and any dtype could hold them.
"""
import pathlib

import torch
from vector_file import numbers, save

torch.manual_seed(20201129)
HERE = pathlib.Path(__file__).parent


def gemm_cases():
    tensors = {}
    shapes = [(3, 5, 7), (1, 4, 588), (4, 1, 33), (5, 3, 1), (17, 9, 31)]
    settings = [(1.0, 0.0), (0.5, 0.75), (-2.0, 1.0)]
    for ta in "nt":
        for tb in "nt":
            for index, (m, n, k) in enumerate(shapes):
                alpha, beta = settings[index % len(settings)]
                a = numbers(*((k, m) if ta == "t" else (m, k)))
                b = numbers(*((n, k) if tb == "t" else (k, n)))
                left = a.T if ta == "t" else a
                right = b.T if tb == "t" else b
                case = f"{ta}{tb}_alpha{alpha}_beta{beta}_m{m}n{n}k{k}"
                tensors[case + "/A"], tensors[case + "/B"] = a, b
                if beta != 0:
                    c = numbers(m, n)
                    tensors[case + "/C"] = c
                    tensors[case + "/D"] = torch.addmm(c, left, right, beta=beta, alpha=alpha)
                else:
                    tensors[case + "/D"] = alpha * (left @ right)
    # Batches: both, and one B for the whole batch.
    a, b, c = numbers(3, 4, 6), numbers(3, 6, 5), numbers(3, 4, 5)
    case = "nn_alpha0.5_beta0.75_batch"
    tensors.update({case + "/A": a, case + "/B": b, case + "/C": c})
    tensors[case + "/D"] = torch.baddbmm(c, a, b, beta=0.75, alpha=0.5)
    a, b = numbers(3, 6, 4), numbers(5, 6)
    case = "tt_alpha1.0_beta0.0_sharedb"
    tensors.update({case + "/A": a, case + "/B": b})
    tensors[case + "/D"] = torch.matmul(a.transpose(1, 2), b.T)
    return tensors


def linear_cases():
    activations = {
        "identity": lambda x: x,
        "relu": torch.relu,
        "leaky_relu_squared": lambda x: torch.nn.functional.leaky_relu(x, 0.5).square(),
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "exp": torch.exp,
    }
    tensors = {}
    for index, (name, activation) in enumerate(activations.items()):
        for m, n, k in [(4, 6, 9), (1, 5, 64), (3, 1, 1)]:
            x, w = numbers(m, k), numbers(n, k) / (8 if k > 1 else 1)
            case = f"{name}_m{m}n{n}k{k}"
            bias = numbers(n) if (index + m) % 3 != 0 else None
            tensors.update({case + "/X": x, case + "/W": w})
            if bias is not None:
                tensors[case + "/bias"] = bias
            tensors[case + "/Y"] = activation(torch.nn.functional.linear(x, w, bias))
    return tensors


save(HERE / "gemm_vectors.safetensors", gemm_cases())
save(HERE / "linear_vectors.safetensors", linear_cases())
