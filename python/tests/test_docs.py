"""The programs of docs/python.md run, in their order, in one process."""
import os
import re

import pytest

PAGE = os.path.join(os.path.dirname(__file__), "../../docs/python.md")


def test_the_manual_runs(tmp_path, monkeypatch, capsys):
    if not os.path.exists(PAGE):
        pytest.skip("the manual is not here")
    monkeypatch.chdir(tmp_path)
    with open(PAGE) as page:
        text = page.read()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M)
    assert len(blocks) >= 6
    names = {"__name__": "manual"}
    for block in blocks:
        exec(compile(block, PAGE, "exec"), names)
    assert names["first"]["name"] == "read"
    assert "TS_ERR_IO" in capsys.readouterr().out
