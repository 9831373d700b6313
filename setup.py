"""For `pip install .` from a clone: the package is in python/."""
import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).resolve().parent / "python" / "setup.py"))
