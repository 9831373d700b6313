"""Hooks of PyTorch, with PyTorch itself on the processor."""
from collections import Counter

import pytest

import tracesmith
from conftest import names

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.rest = torch.nn.Sequential(torch.nn.ReLU(),
                                        torch.nn.Linear(8, 1))

    def forward(self, x):
        return self.rest(self.first(x))


def train(path, steps=3, **options):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.DataLoader(torch.ones(4 * steps, 4), batch_size=4)
    with tracesmith.record(path), tracesmith.torch.trace(
            model, optimizer=optimizer, **options):
        for batch in tracesmith.torch.loader(data):
            optimizer.zero_grad()
            loss = model(batch).sum()
            loss.backward()
            optimizer.step()
    return model, optimizer


def test_modules_steps_backward_and_waits(path):
    model, optimizer = train(path)
    with tracesmith.open(path) as t:
        count = Counter(names(t))
        assert count["Net"] == count["first (Linear)"] == 3
        assert count["rest.1 (Linear)"] == 3
        assert count["first (Linear) backward"] == 3
        assert count["rest.1 (Linear) backward"] == 3
        assert count["SGD.step"] == 3
        assert count["torch.Tensor.backward"] == 3
        assert count["dataloader wait"] == 5  # its start and its end, too
        assert t.info["counts"]["frame"] == 3
        assert "zone_open" not in t.info["counts"]
        categories = {s["name"]: s["category"] for s in t.sites}
        assert categories["Net"] == "torch.forward"
        rows = {r["name"]: r for r in t.events("zone").rows()}
        outer, inner = rows["Net"], rows["rest.1 (Linear)"]
        assert outer["start_ns"] < inner["start_ns"]
        assert (inner["start_ns"] + inner["duration_ns"]
                <= outer["start_ns"] + outer["duration_ns"])
        backward = rows["torch.Tensor.backward"]
        part = rows["first (Linear) backward"]
        assert backward["start_ns"] < part["start_ns"] \
            < backward["start_ns"] + backward["duration_ns"]
    assert "step" not in vars(optimizer)  # nothing is left behind
    assert not model._forward_hooks and not model._forward_pre_hooks


def test_without_backward_and_with_functions(path):
    train(path, steps=1, backward=False, functions=True)
    with tracesmith.open(path) as t:
        found = names(t)
        assert not [n for n in found if n.endswith(") backward")]
        assert any("linear" in n for n in found)


def test_results_are_what_they_are_without(path):
    torch.manual_seed(1)
    with_hooks, _ = train(path)
    torch.manual_seed(1)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(4, 4)).sum().backward()
        optimizer.step()
    for a, b in zip(model.parameters(), with_hooks.parameters()):
        assert torch.equal(a, b)


def test_a_scheduler_still_counts_steps(path):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with tracesmith.record(path), tracesmith.torch.trace(
            model, optimizer=optimizer):
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()
        scheduler.step()
    assert abs(scheduler.get_last_lr()[0] - 0.01) < 1e-9
