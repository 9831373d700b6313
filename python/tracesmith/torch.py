"""PyTorch: modules, steps, backward passes and waits for data, as zones.

    with tracesmith.record("t.sbt", gpu=True), tracesmith.torch.trace(model):
        for batch in tracesmith.torch.loader(data):
            loss = model(batch).sum()
            loss.backward()
            optimizer.step()
            tracesmith.torch.step()

It uses hooks that PyTorch documents: hooks of modules, and TorchFunctionMode.
"""
import threading

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from . import _tracesmith as native

__all__ = ["loader", "step", "trace"]


def step(name="step"):
    """A training step ends and the next one begins."""
    native.frame(name)


class loader:
    """The batches of a DataLoader; the wait for each is a zone."""

    def __init__(self, data, name="dataloader wait"):
        self._data = data
        self._name = name

    def __iter__(self):
        with native.zone(self._name):
            iterator = iter(self._data)
        while True:
            with native.zone(self._name):
                try:
                    batch = next(iterator)
                except StopIteration:
                    return
            yield batch

    def __len__(self):
        return len(self._data)

    def __getattr__(self, name):
        return getattr(self._data, name)


class _Pass(threading.local):
    """The backward pass that this thread called: zones that end with it."""

    depth = 0

    def __init__(self):
        self.open = []

    def end(self):
        while self.open:
            self.open.pop().__exit__(None, None, None)


class _Functions(TorchFunctionMode):
    """Functions of torch that this thread calls, as zones."""

    def __init__(self, everything, called):
        super().__init__()
        self._everything = everything
        self._names = {}
        self._pass = called

    def _name(self, function):
        name = self._names.get(function)
        if name is None:
            try:
                name = resolve_name(function)
            except Exception:  # a function that torch does not list
                name = None
            name = name or getattr(function, "__qualname__", None) or repr(
                function)
            if name.endswith(".__get__"):  # properties are not worth a zone
                name = ""
            self._names[function] = name
        return name

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = self._name(function)
        if name.endswith(".backward"):
            return self._backward(name, function, args, kwargs)
        if not name or not self._everything:
            return function(*args, **kwargs)
        with native.zone(name):
            return function(*args, **kwargs)

    def _backward(self, name, function, args, kwargs):
        with native.zone(name):
            self._pass.depth += 1
            try:
                return function(*args, **kwargs)
            finally:
                self._pass.depth -= 1
                if not self._pass.depth:
                    self._pass.end()


def _tensors(values):
    values = values if isinstance(values, (tuple, list)) else (values,)
    return [value for value in values if isinstance(value, torch.Tensor)
            and value.requires_grad]


class _Hooks:
    """Begins and ends the zones of one module."""

    def __init__(self, name, called):
        self._forward = native.site_zone(name, "torch.forward", None, None)
        self._name = name + " backward"
        self._backward = native.site_zone(
            self._name, "torch.backward", None, None)
        self._pass = called
        self._has_end = False  # hooks tell the end of the backward pass

    def before(self, module, inputs):
        self._has_end = bool(_tensors(inputs))
        self._forward.__enter__()

    def after(self, module, inputs, output):
        self._forward.__exit__(None, None, None)

    def before_backward(self, module, gradients):
        if self._has_end:
            self._backward.__enter__()
        elif self._pass.depth:
            # A first layer: nothing is computed after it but the end.
            self._backward.__enter__()
            self._pass.open.append(self._backward)
        else:  # on a thread of autograd, where no end is told
            native.mark(self._name)

    def after_backward(self, module, inputs, outputs):
        if self._has_end:
            self._backward.__exit__(None, None, None)

    def watch(self, module, inputs, output):
        """Before torch 2.0: the backward pass begins with an output's."""
        for tensor in _tensors(output)[:1]:
            tensor.register_hook(
                lambda gradient: self.before_backward(module, gradient))


class trace:
    """Records modules while it is open, each call as a zone of its name.

    modules: models; every module in them is recorded (category
        torch.forward).
    backward: their backward passes, too (category torch.backward).
    functions: every function of torch that this thread calls, not only
        Tensor.backward and torch.autograd.backward.
    optimizer: each step() is a zone and ends a step (see `step`).
    """

    def __init__(self, *modules, backward=True, functions=False,
                 optimizer=None):
        self._modules = modules
        self._backward = backward
        self._pass = _Pass()
        self._mode = _Functions(functions, self._pass)
        self._optimizer = optimizer
        self._handles = []
        self._step = None

    def __enter__(self):
        for model in self._modules:
            for path, module in model.named_modules():
                self._hook(path, module)
        if self._optimizer is not None:
            self._hook_step()
        self._mode.__enter__()
        return self

    def __exit__(self, kind, error, trace):
        self._mode.__exit__(kind, error, trace)
        for handle in self._handles:
            handle.remove()
        self._handles = []
        if self._step is not None:
            del self._optimizer.step
            self._step = None

    def _hook(self, path, module):
        kind = type(module).__name__
        hooks = _Hooks("%s (%s)" % (path, kind) if path else kind, self._pass)
        keep = self._handles.append
        keep(module.register_forward_pre_hook(hooks.before))
        if hasattr(module, "register_full_backward_pre_hook"):
            keep(module.register_forward_hook(hooks.after, always_call=True))
            if self._backward:
                keep(module.register_full_backward_pre_hook(
                    hooks.before_backward))
        else:
            if self._backward:
                keep(module.register_forward_hook(hooks.watch))
            keep(module.register_forward_hook(hooks.after))
        if self._backward:
            keep(module.register_full_backward_hook(hooks.after_backward))

    def _hook_step(self):
        name = type(self._optimizer).__name__ + ".step"
        self._step = self._optimizer.step

        def stepped(*args, **kwargs):
            with native.zone(name):
                result = self._step(*args, **kwargs)
            step()
            return result
        # Schedulers look at what the method that they wrapped counts.
        for key, value in getattr(self._step, "__dict__", {}).items():
            setattr(stepped, key, value)
        self._optimizer.step = stepped
