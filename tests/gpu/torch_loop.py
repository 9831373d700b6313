"""A small training loop: two streams, and its forward pass as a CUDA graph.

torch_loop.py bare|kineto     kineto prints "KERNELS MICROSECONDS" of what
                              torch.profiler saw
"""
import sys

import torch

from kineto import profile_kernels


def work():
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)
    ).cuda()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(64, 512, device="cuda")
    side = torch.cuda.Stream()
    for _ in range(20):
        optimiser.zero_grad()
        model(x).square().mean().backward()
        optimiser.step()
        with torch.cuda.stream(side):
            x.mul(2)
        torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(x)
    for _ in range(10):
        graph.replay()
    torch.cuda.synchronize()


def main():
    if sys.argv[1] == "kineto":
        profile_kernels(work)
    else:
        work()


main()
