#!/usr/bin/env python3
"""Golden vectors for attention, xsa, loss, embedding and optimizers, by PyTorch in fp64 (Debian: python3-torch).

Writes <family>_vectors.safetensors beside this script. Names: "<case>/<port>", ports as in docs/operations.md;
gradients "<case>/d<port>" come from autograd on plain formulas. A case's name carries its attributes. All tensors
are stored as F64, indices too.
"""
import pathlib

import torch
from vector_file import numbers, save

torch.manual_seed(20201130)
torch.set_default_dtype(torch.float64)
HERE = pathlib.Path(__file__).parent


def attention(q, k, v, valid, batch, seq, heads, kv_heads, causal, scale):
    """softmax(scale q k^T + mask) v, the rows [batch * seq, heads * dim]; a query without a key gives zeros."""
    dim = q.shape[1] // heads
    q, k, v = (x.view(batch, seq, -1, dim).transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(heads // kv_heads, dim=1) for x in (k, v))
    allowed = torch.ones(batch, 1, seq, seq, dtype=torch.bool)
    if causal:
        allowed = allowed & torch.ones(seq, seq, dtype=torch.bool).tril()
    if valid is not None:
        allowed = allowed & (valid.view(batch, 1, 1, seq) != 0)
    has_key = allowed.any(-1, keepdim=True)
    scores = (scale * q @ k.transpose(-2, -1)).masked_fill(~allowed & has_key, float("-inf"))
    out = torch.softmax(scores, -1) @ v
    return torch.where(has_key, out, torch.zeros_like(out)).transpose(1, 2).reshape(batch * seq, heads * dim)


def attention_cases():
    tensors = {}
    # batch, seq, heads, kv heads, dim, causal, masked, scale, spread of the inputs
    settings = [
        (3, 7, 4, 2, 8, 1, False, 0.5, 64),
        (2, 5, 2, 2, 4, 0, False, 0.5, 64),
        (3, 6, 4, 1, 4, 1, True, 0.25, 64),
        (2, 4, 2, 1, 3, 0, True, 1.0, 64),
        (1, 1, 1, 1, 2, 1, False, 1.0, 64),
        (2, 9, 2, 1, 4, 1, True, 4.0, 16),  # scores of hundreds
    ]
    for batch, seq, heads, kv_heads, dim, causal, masked, scale, over in settings:
        q = numbers(batch * seq, heads * dim, over=over).requires_grad_()
        k = numbers(batch * seq, kv_heads * dim, over=over).requires_grad_()
        v = numbers(batch * seq, kv_heads * dim).requires_grad_()
        valid = None
        if masked:
            valid = torch.randint(0, 3, (batch, seq)).clamp(max=1)
            valid[0, 0], valid[1, :] = 0, 0  # the first query of entry 0 and all of entry 1 have no key
            valid = valid.flatten()
        o = attention(q, k, v, valid, batch, seq, heads, kv_heads, causal, scale)
        d_o = numbers(*o.shape)
        o.backward(d_o)
        case = f"s{seq}_h{heads}_kv{kv_heads}_causal{causal}_scale{scale}_b{batch}d{dim}{'m' if masked else ''}"
        tensors.update({case + "/Q": q, case + "/K": k, case + "/V": v, case + "/dO": d_o, case + "/O": o})
        tensors.update({case + "/dQ": q.grad, case + "/dK": k.grad, case + "/dV": v.grad})
        if masked:
            tensors[case + "/valid"] = valid
    return tensors


def xsa_cases():
    tensors = {}
    for rows, heads, kv_heads, dim in [(5, 4, 2, 8), (1, 1, 1, 3), (7, 3, 1, 5)]:
        y = numbers(rows, heads * dim).requires_grad_()
        v = numbers(rows, kv_heads * dim).requires_grad_()
        unit = v.view(rows, kv_heads, 1, dim)
        unit = unit / unit.norm(dim=-1, keepdim=True)
        split = y.view(rows, kv_heads, heads // kv_heads, dim)
        o = (split - (split * unit).sum(-1, keepdim=True) * unit).reshape(rows, heads * dim)
        d_o = numbers(rows, heads * dim)
        o.backward(d_o)
        case = f"h{heads}_kv{kv_heads}_n{rows}d{dim}"
        tensors.update({case + "/Y": y, case + "/V": v, case + "/dO": d_o, case + "/O": o})
        tensors.update({case + "/dY": y.grad, case + "/dV": v.grad})
    return tensors


def loss_cases():
    tensors = {}

    def add(case, logits, targets):
        logits = logits.clone().requires_grad_()
        row_loss = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
        d_row = numbers(len(targets))
        row_loss.backward(d_row)
        tensors.update({case + "/logits": logits, case + "/targets": targets, case + "/row_loss": row_loss})
        tensors.update({case + "/dRow": d_row, case + "/dLogits": logits.grad})

    rows, classes = 6, 17
    targets = torch.randint(0, classes, (rows,))
    add("plain", numbers(rows, classes), targets)
    add("softcapped", 30 * torch.tanh(numbers(rows, classes, over=2) / 30), targets)
    extreme = numbers(rows, classes)
    extreme[0, :], extreme[0, 3], extreme[1, :], extreme[1, 3] = -80, 80, 80, -80
    extreme[2, ::2], extreme[2, 1::2] = 80, -80
    add("extreme", extreme, torch.tensor([3, 3, 1, 5, 0, 16]))
    # Probabilities of exactly one and zero; a loss of zero and one of 2000.
    add("one_hot", torch.nn.functional.one_hot(torch.tensor([0, 4, 2]), 5) * 2000.0, torch.tensor([0, 4, 1]))
    add("one_class", numbers(3, 1), torch.zeros(3, dtype=torch.int64))
    return tensors


def embedding_cases():
    tensors = {}
    for case, vocabulary, dim, ids in [
        ("repeats", 7, 5, [3, 0, 3, 6, 3, 0]),
        ("one_id", 4, 3, [2] * 9),
        ("one_row", 1, 2, [0]),
    ]:
        ids = torch.tensor(ids)
        table = numbers(vocabulary, dim).requires_grad_()
        y = torch.nn.functional.embedding(ids, table)
        dy = numbers(*y.shape)
        y.backward(dy)
        tensors.update({case + "/table": table, case + "/ids": ids, case + "/Y": y})
        tensors.update({case + "/dY": dy, case + "/dTable": table.grad})
    return tensors


def adamw_cases():
    """Five steps; ports of step t: "<case>/<port><t>", P and M and V before step 0 as port...0."""
    tensors = {}
    for case, lr, betas, eps, decay in [
        ("decay", 2**-6, (0.875, 0.9375), 2**-20, 2**-4),
        ("no_decay", 2**-3, (0.5, 0.75), 2**-10, 0.0),
    ]:
        p = numbers(3, 4).requires_grad_()
        optimizer = torch.optim.AdamW([p], lr=lr, betas=betas, eps=eps, weight_decay=decay)
        tensors[case + "/P0"] = p.detach().clone()
        tensors[case + "/M0"], tensors[case + "/V0"] = torch.zeros(3, 4), torch.zeros(3, 4)
        for step in range(5):
            p.grad = numbers(3, 4)
            tensors[f"{case}/G{step}"] = p.grad.clone()
            optimizer.step()
            state = optimizer.state[p]
            tensors[f"{case}/P{step + 1}"] = p.detach().clone()
            tensors[f"{case}/M{step + 1}"] = state["exp_avg"].clone()
            tensors[f"{case}/V{step + 1}"] = state["exp_avg_sq"].clone()
        tensors[case + "/settings"] = torch.tensor([lr, *betas, eps, decay])
    return tensors


def muon_cases():
    """Momentum, and the orthogonalised update by way of the singular values: each goes five times through
    3.4445 s - 4.775 s^3 + 2.0315 s^5, which is what the five products of Newton-Schulz do to them."""
    tensors = {}
    for rows, cols in [(4, 6), (5, 5), (1, 3)]:
        case = f"m{rows}n{cols}"
        b, g = numbers(rows, cols), numbers(rows, cols)
        mu = 0.9375
        b_next = mu * b + g
        u = g + mu * b_next
        x = u / (u.norm() + 2**-23)
        left, s, right = torch.linalg.svd(x, full_matrices=False)
        for _ in range(5):
            s = 3.4445 * s - 4.775 * s**3 + 2.0315 * s**5
        tensors.update({case + "/B": b, case + "/G": g, case + "/B_next": b_next, case + "/U": u, case + "/X": x})
        tensors[case + "/O"] = left @ torch.diag(s) @ right
    return tensors


save(HERE / "attention_vectors.safetensors", attention_cases())
save(HERE / "xsa_vectors.safetensors", xsa_cases())
save(HERE / "loss_vectors.safetensors", loss_cases())
save(HERE / "embedding_vectors.safetensors", embedding_cases())
save(HERE / "adamw_vectors.safetensors", adamw_cases())
save(HERE / "muon_vectors.safetensors", muon_cases())
