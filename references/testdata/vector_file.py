"""What the scripts for golden vectors share: numbers of few bits and the safetensors format."""
import json
import struct

import torch


def numbers(*shape, over=64):
    """Multiples of 1/over up to 128/over in fp64: they compress well and any dtype could hold them."""
    return torch.randint(-128, 129, shape).to(torch.float64) / over


def save(path, tensors):
    """Length of the header, JSON header, raw little-endian data."""
    header, data = {}, b""
    for name, tensor in sorted(tensors.items()):
        raw = tensor.detach().to(torch.float64).contiguous().numpy().astype("<f8").tobytes()
        header[name] = {"dtype": "F64", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
