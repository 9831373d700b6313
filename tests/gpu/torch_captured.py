"""Small programs whose operations are captured and run again.

torch_captured.py matmul|compiled|graph
"""
import sys

import torch


def matmul():  # of cuBLAS
    a = torch.rand(512, 512, device="cuda")
    return (a @ a).sum()


def compiled():  # a kernel of Triton
    f = torch.compile(lambda a, b: torch.relu(a * b + 1))
    a = torch.rand(4096, device="cuda")
    return f(a, a).sum()


def graph():
    a = torch.zeros(4096, device="cuda")
    g = torch.cuda.CUDAGraph()
    a.add_(1)
    with torch.cuda.graph(g):
        a.add_(1)
    g.replay()
    return a.sum()


print(float(globals()[sys.argv[1]]()))
