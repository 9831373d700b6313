"""10,000 tiny kernels of PyTorch: prints launches per second.

torch_rate.py bare|kineto|proton
"""
import sys
import tempfile
import time

import torch

COUNT = 10000


def loop(x):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(COUNT):
        x.add_(1)
    torch.cuda.synchronize()
    return COUNT / (time.perf_counter() - start)


def main():
    x = torch.zeros(1, device="cuda")
    loop(x)
    if sys.argv[1] == "kineto":
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
            best = max(loop(x) for _ in range(3))
    elif sys.argv[1] == "proton":
        import triton.profiler as proton

        with tempfile.TemporaryDirectory() as folder:
            proton.start(folder + "/profile")
            best = max(loop(x) for _ in range(3))
            proton.finalize()
    else:
        best = max(loop(x) for _ in range(3))
    print(f"{best:.0f}")


main()
