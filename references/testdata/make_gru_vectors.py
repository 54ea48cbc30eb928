#!/usr/bin/env python3
"""Golden vectors for the GRU rungs, by torch.nn.GRU and torch.nn.GRUCell in fp64 (Debian: python3-torch).

Writes gru_vectors.safetensors beside this script. Names: "<case>/<tensor>", tensors as the stages name them; a
sequence's rows are b * steps + t. Gradients ("<case>/d_<tensor>") come from autograd, given "<case>/d_h".
"""
import pathlib

import torch

import vector_file

torch.manual_seed(20201201)
torch.set_default_dtype(torch.float64)


def numbers(*shape):
    return vector_file.numbers(*shape).requires_grad_()


def gru(steps, batch, inputs, hidden):
    x, h0 = numbers(batch, steps, inputs), numbers(1, batch, hidden)
    module = torch.nn.GRU(inputs, hidden, batch_first=True)
    weights = {"w_ih": numbers(3 * hidden, inputs), "w_hh": numbers(3 * hidden, hidden),
               "b_ih": numbers(3 * hidden), "b_hh": numbers(3 * hidden)}
    with torch.no_grad():
        for theirs, ours in zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), weights.values()):
            getattr(module, theirs).copy_(ours)
    h, _ = module(x, h0)
    d_h = numbers(batch, steps, hidden)
    theirs = [x, h0, module.weight_ih_l0, module.weight_hh_l0, module.bias_ih_l0, module.bias_hh_l0]
    gradients = torch.autograd.grad(h, theirs, d_h)
    case = f"steps{steps}_batch{batch}_inputs{inputs}_hidden{hidden}"
    given = {"x": x.reshape(batch * steps, inputs), "h0": h0[0], **weights}
    out = {f"{case}/{name}": tensor for name, tensor in given.items()}
    out.update({f"{case}/d_{name}": gradient.reshape(tensor.shape)
                for (name, tensor), gradient in zip(given.items(), gradients)})
    out[f"{case}/h"] = h.reshape(batch * steps, hidden)
    out[f"{case}/d_h"] = d_h.reshape(batch * steps, hidden)
    return out


tensors = {}
for sizes in ((1, 1, 1, 1), (4, 3, 5, 7), (5, 2, 3, 33)):
    tensors.update(gru(*sizes))
vector_file.save(pathlib.Path(__file__).parent / "gru_vectors.safetensors", tensors)
