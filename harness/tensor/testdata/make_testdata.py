#!/usr/bin/env python3
"""Writes the small golden files of this folder with NumPy: what the readers are tested against.

Run it in this folder after a change; the files are committed, so the tests need no Python. The .safetensors files are
laid out here from the format's description, independently of the C++ writer.
"""
import json
import struct

import numpy as np

# The same numbers in every dtype: signs, halves, a subnormal of fp16, the largest fp16.
VALUES = np.array([[0.0, -0.0, 1.0, -1.5], [2.0**-24, 65504.0, 0.25, -3.0], [7.0, 100.0, -2.0, 0.5]])


def bf16_words(values):
    """Upper halves of fp32: exact for values that bf16 holds."""
    return (values.astype("<f4").view("<u4") >> 16).astype("<u2")


def save(name, array, version=(1, 0)):
    with open(name, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def save_safetensors(name, tensors, metadata=None, pad=0):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for key, (dtype, array) in tensors.items():
        raw = array.tobytes()
        header[key] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode() + b" " * pad
    with open(name, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    for dtype in ("f8", "f4", "f2"):
        save(f"{dtype}.npy", VALUES.astype("<" + dtype))
    save("i4.npy", np.array([[-(2**31), 2**31 - 1], [0, -7]], dtype="<i4"))
    save("int8.npy", np.array([[-128, 127], [0, -7]], dtype="i1"))
    save("bf16_u2.npy", bf16_words(np.array([1.0, -2.5, 2.0**-130])))
    save("bf16_v2.npy", bf16_words(np.array([1.0, -2.5, 2.0**-130])).view("V2"))
    save("fortran_2d.npy", np.asfortranarray(VALUES.astype("<f4")))
    save("fortran_3d.npy", np.asfortranarray(np.arange(24, dtype="<i4").reshape(2, 3, 4)))
    save("version_2.npy", VALUES.astype("<f4"), version=(2, 0))
    save("version_3.npy", VALUES.astype("<f4"), version=(3, 0))
    save("scalar.npy", np.array(2.5, dtype="<f8"))
    save("empty.npy", np.zeros((3, 0, 2), dtype="<f4"))
    save("big_endian.npy", VALUES.astype(">f4"))
    save("i8.npy", np.arange(3, dtype="<i8"))
    save("structured.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<f4")]))
    save_safetensors("one.safetensors", {"weight": ("F32", VALUES.astype("<f4"))})
    save_safetensors(
        "several.safetensors",
        {
            "layer.0.weight": ("F16", VALUES.astype("<f2")),
            "layer.0.bias": ("F64", VALUES[0].astype("<f8")),
            "layer.1.weight": ("BF16", bf16_words(np.array([1.0, -2.5, 2.0**-130]))),
            "steps": ("I32", np.array(17, dtype="<i4")),
            "nothing": ("F32", np.zeros((0, 4), dtype="<f4")),
            "mask": ("BOOL", np.array([True, False])),
            "quantised": ("F8_E4M3", np.zeros(3, dtype="u1")),
        },
        metadata={"format": "pt"},
        pad=3,
    )


main()
