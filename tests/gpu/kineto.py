"""What torch.profiler, which is Kineto, sees of a program on the GPU."""


def profile_kernels(work):
    """Runs work() and prints "KERNELS MICROSECONDS" of its kernels."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as p:
        work()
    kernels = [
        e for e in p.events()
        if str(e.device_type).endswith("CUDA")
        and not e.name.startswith(("Memcpy", "Memset"))
    ]
    print(len(kernels), round(sum(e.time_range.elapsed_us() for e in kernels)))
