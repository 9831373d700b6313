"""Programs of other people's libraries, with random weights.

others.py jax|cupy|transformers [kineto]
kineto prints "KERNELS MICROSECONDS" of what torch.profiler saw
"""
import sys

from kineto import profile_kernels


def jax():
    import jax
    import jax.numpy as jnp

    def loss(w, x):
        for layer in w:
            x = jnp.tanh(x @ layer)
        return (x**2).mean()

    @jax.jit
    def step(w, x):
        return jax.tree.map(lambda a, g: a - 0.1 * g, w, jax.grad(loss)(w, x))

    keys = jax.random.split(jax.random.key(1), 5)
    w = [jax.random.normal(k, (512, 512)) for k in keys[:4]]
    x = jax.random.normal(keys[4], (64, 512))
    for _ in range(20):
        w = step(w, x)
    jax.block_until_ready(w)


def cupy():
    import cupy

    double = cupy.ElementwiseKernel("float32 x", "float32 y", "y = x * 2", "twice")
    a = cupy.random.rand(512, 512, dtype=cupy.float32)
    for _ in range(20):
        a = cupy.sort(double(a @ a) / cupy.linalg.norm(a), axis=0)
    cupy.cuda.Device().synchronize()


def transformers():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=256, n_head=4)).cuda()
    optimiser = torch.optim.AdamW(model.parameters())
    for _ in range(5):
        ids = torch.randint(0, 50000, (4, 128)).cuda()
        optimiser.zero_grad()
        model(ids, labels=ids).loss.backward()
        optimiser.step()
        float(ids.sum())
    model.generate(ids[:, :8], max_new_tokens=16, do_sample=False,
                   pad_token_id=0, attention_mask=torch.ones_like(ids[:, :8]))
    torch.cuda.synchronize()


def main():
    work = globals()[sys.argv[1]]
    if "kineto" in sys.argv:
        profile_kernels(work)
    else:
        work()


main()
