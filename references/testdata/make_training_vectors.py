#!/usr/bin/env python3
"""Three steps of the training_step stage by PyTorch in fp64 (Debian: python3-torch), with AdamW and with Muon.

Writes training_vectors.safetensors beside this script: losses, gradient norms, and two sums of every weight after the
last step. Start values and tokens are whole-number formulas that the test repeats. The network is torch.nn.GRU,
torch.nn.functional and autograd; the optimizers are plain formulas, for torch.optim does not round its constants to
fp32 as the ops do.
"""
import json
import pathlib
import struct

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
HERE = pathlib.Path(__file__).parent
BATCH, SEQ, WIDTH, HEADS, KV_HEADS, VOCABULARY = 3, 5, 32, 2, 1, 128
DIM = WIDTH // HEADS
EPS, CAP, LR, DECAY, CLIP = 2.0**-20, 30.0, 2.0**-7, 0.125, 0.5

SHAPES = [("embedding", (VOCABULARY, WIDTH)), ("attention.norm", (WIDTH,)), ("attention.w_q", (WIDTH, WIDTH)),
          ("attention.w_k", (KV_HEADS * DIM, WIDTH)), ("attention.w_v", (KV_HEADS * DIM, WIDTH)),
          ("attention.q_gain", (HEADS,)), ("attention.w_o", (WIDTH, WIDTH))]
for layer in range(2):
    SHAPES += [(f"gru{layer}.norm", (WIDTH,)), (f"gru{layer}.w_ih", (3 * WIDTH, WIDTH)),
               (f"gru{layer}.w_hh", (3 * WIDTH, WIDTH)), (f"gru{layer}.b_ih", (3 * WIDTH,)),
               (f"gru{layer}.b_hh", (3 * WIDTH,))]
SHAPES += [("norm", (WIDTH,)), ("classifier", (VOCABULARY, WIDTH))]


def fp32(x):
    return float(torch.tensor(x).to(torch.float32))


def start(k, name, shape):
    i = torch.arange(torch.Size(shape).numel(), dtype=torch.int64)
    values = ((i * i * 7 + i * 31 + k * 17) % 257 - 128).to(torch.float64) / 512
    base = 1 if name.endswith("norm") or name.endswith("q_gain") else 0
    return (values + base).view(shape).requires_grad_()


def rms(x, weight=None):
    y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + EPS)
    return y if weight is None else y * weight


def rope(x):
    """A quarter of a head's columns is turned: half-split pairs (i, i + 2). x [batch, head, seq, dim]."""
    half = DIM // 8
    angle = torch.arange(SEQ).view(-1, 1) * 10000.0 ** (-torch.arange(half) / half)
    turned = torch.polar(torch.ones(SEQ, half), -angle) * torch.complex(x[..., :half], x[..., half:2 * half])
    return torch.cat([turned.real, turned.imag, x[..., 2 * half:]], -1)


def attention_block(x, w):
    n = rms(x, w["attention.norm"])
    q, k, v = (F.linear(n, w[f"attention.w_{p}"]).view(BATCH, SEQ, -1, DIM).transpose(1, 2) for p in "qkv")
    q = rope(rms(q)) * w["attention.q_gain"].view(1, HEADS, 1, 1)
    k = rope(rms(k)).repeat_interleave(HEADS // KV_HEADS, 1)
    v = v.repeat_interleave(HEADS // KV_HEADS, 1)
    scores = q @ k.transpose(-2, -1) * fp32(1 / DIM**0.5)
    scores = scores.masked_fill(~torch.ones(SEQ, SEQ, dtype=torch.bool).tril(), float("-inf"))
    y = torch.softmax(scores, -1) @ v
    unit = F.normalize(v, dim=-1)
    o = y - (y * unit).sum(-1, keepdim=True) * unit
    return x + F.linear(o.transpose(1, 2).reshape(BATCH, SEQ, WIDTH), w["attention.w_o"])


def loss_of(w, ids, targets):
    x = attention_block(w["embedding"][ids], w)
    for layer in range(2):
        gru = torch.nn.GRU(WIDTH, WIDTH, batch_first=True)
        # The module computes with our weights, so that autograd reaches them.
        for own, ours in (("weight_ih_l0", "w_ih"), ("weight_hh_l0", "w_hh"), ("bias_ih_l0", "b_ih"),
                          ("bias_hh_l0", "b_hh")):
            delattr(gru, own)
            setattr(gru, own, w[f"gru{layer}.{ours}"])
        gru._flat_weights = [getattr(gru, name) for name in gru._flat_weights_names]
        x = x + gru(rms(x, w[f"gru{layer}.norm"]))[0]
    logits = CAP * torch.tanh(F.linear(rms(x, w["norm"]), w["classifier"]) / CAP)
    return F.cross_entropy(logits.view(-1, VOCABULARY), targets)


def newton_schulz(g):
    x = g / (g.norm() + fp32(1e-7))
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for _ in range(5):
        a = x @ x.T
        x = fp32(3.4445) * x + (fp32(-4.775) * a + fp32(2.0315) * a @ a) @ x
    return x.T if tall else x


def run(optimizer):
    w = {name: start(k, name, shape) for k, (name, shape) in enumerate(SHAPES)}
    m, v, buffer = ({name: torch.zeros(shape) for name, shape in SHAPES} for _ in range(3))
    losses, norms = [], []
    i = torch.arange(BATCH * SEQ)
    for step in range(3):
        ids = (32 + (i * i + 5 * step) % 23).view(BATCH, SEQ)
        targets = 32 + (i * i * i + 11 * step) % 29
        loss = loss_of(w, ids, targets)
        gradients = torch.autograd.grad(loss, list(w.values()))
        norm = torch.sqrt(sum((g * g).sum() for g in gradients))
        factor = min(1.0, CLIP / (norm + fp32(1e-6)))
        losses.append(loss.detach())
        norms.append(norm.detach())
        for (name, shape), gradient in zip(SHAPES, gradients):
            g, p = gradient * factor, w[name].detach()
            if optimizer == "muon" and len(shape) == 2 and name not in ("embedding", "classifier"):
                buffer[name] = fp32(0.95) * buffer[name] + g
                x = newton_schulz(g + fp32(0.95) * buffer[name])
                p = fp32(1 - LR * DECAY) * p - fp32(LR * max(1, shape[0] / shape[1]) ** 0.5) * x
            else:
                m[name] = fp32(0.9) * m[name] + fp32(1 - 0.9) * g
                v[name] = fp32(0.95) * v[name] + fp32(1 - 0.95) * g * g
                first, second = m[name] / (1 - 0.9 ** (step + 1)), v[name] / (1 - 0.95 ** (step + 1))
                decay = fp32(1 - LR * DECAY) if len(shape) == 2 else 1
                p = decay * p - LR * first / (second.sqrt() + fp32(1e-8))
            w[name] = p.requires_grad_()
    sums = []
    for p in w.values():
        flat = p.detach().flatten()
        sign = torch.where(torch.arange(flat.numel()) % 3 == 1, -1.0, 1.0)
        sums.append(torch.stack([(flat * flat).sum(), (sign * flat).sum()]))
    return {f"{optimizer}/losses": torch.stack(losses), f"{optimizer}/norms": torch.stack(norms),
            f"{optimizer}/sums": torch.stack(sums)}


def save(name, tensors):
    """The safetensors format: length of the header, JSON header, raw little-endian data."""
    header, data = {}, b""
    for key, tensor in sorted(tensors.items()):
        raw = struct.pack(f"<{tensor.numel()}d", *tensor.flatten().tolist())
        header[key] = {"dtype": "F64", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (HERE / name).write_bytes(struct.pack("<Q", len(text)) + text + data)


save("training_vectors.safetensors", {**run("adamw"), **run("muon")})
