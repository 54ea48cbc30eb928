#!/usr/bin/env python3
"""Writes the seed corpus: small files that reach the parsers' branches. Run it in this folder after a change; the
files are committed. The golden files of harness/tensor/testdata are seeds too."""
import struct
from pathlib import Path


def npy(header, data=b"", version=1):
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def safetensors(header, data=b""):
    return struct.pack("<Q", len(header)) + header + data


def entry(name, dtype, shape, begin, end):
    return b'"%s":{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}' % (name, dtype, shape, begin, end)


NPY = {
    "plain": npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", bytes(8)),
    "fortran": npy(b"{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3, 1)}", bytes(range(24))),
    "words": npy(b"{'descr': '|V2', 'fortran_order': False, 'shape': ()}", b"\x80\x3f", 2),
    "trailing": npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3)}", b"x"),
    "overflow": npy(b"{'descr': '<f2', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
    "structured": npy(b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", bytes(4), 3),
}
SAFETENSORS = {
    "plain": safetensors(b"{" + entry(b"a", b"F32", b"[2]", 0, 8) + b"}", bytes(8)),
    "two": safetensors(
        b'{"__metadata__":{"k":"v"},' + entry(b"a", b"BF16", b"[1,2]", 0, 4) + b"," + entry(b"b", b"I32", b"[]", 4, 8) + b"}",
        bytes(8),
    ),
    "overlap": safetensors(b"{" + entry(b"a", b"F16", b"[2]", 0, 4) + b"," + entry(b"b", b"F16", b"[2]", 2, 6) + b"}", bytes(6)),
    "empty": safetensors(b"{}"),
    "twice": safetensors(b"{" + entry(b"a", b"U8", b"[0]", 0, 0) + b"," + entry(b"a", b"U8", b"[0]", 0, 0) + b"}"),
    "unknown": safetensors(b"{" + entry(b"a", b"F99", b"[3]", 0, 1) + b"}", b"x"),
}
CASES = {
    "gemm": b"gemm m=64 n=63 k=588 in=f16 acc=f32 out=f16 fill=normal seed=7",
    "transposed": b"gemm m=1 n=1 k=1 ta=t tb=t alpha=0.5 beta=-1e-3 in=f32 acc=f32 out=f32 fill=integer seed=1",
    "linear": b"linear m=3 n=5 k=7 activation=tanh in=bf16 acc=f32 out=bf16 fill=nan_cone seed=18446744073709551615",
    "short": b"gemm m=2 n=2 k=2",
    "unknown": b"nosuch m=2",
    "twice": b"gemm m=2 m=3 n=2 k=2",
    "junk": b"gemm m= n==2 =k {1..3} # comment",
}


def main():
    here = Path(__file__).parent / "corpus"
    for folder, files, extension in (("npy", NPY, "npy"), ("safetensors", SAFETENSORS, "safetensors"), ("case", CASES, "case")):
        (here / folder).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (here / folder / f"{name}.{extension}").write_bytes(content)


main()
