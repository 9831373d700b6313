"""The types that the package declares are of what it has."""
import ast
import os

import tracesmith


def test_the_stub_and_the_module_have_the_same_names():
    folder = os.path.dirname(tracesmith.__file__)
    assert os.path.exists(os.path.join(folder, "py.typed"))
    with open(os.path.join(folder, "__init__.pyi")) as stub:
        tree = ast.parse(stub.read())
    declared = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            declared[node.name] = node
    public = {name for name in declared if not name.startswith("_")}
    assert public == set(tracesmith.__all__)
    for name in public:
        node = declared[name]
        if not isinstance(node, ast.ClassDef):
            continue
        for member in node.body:
            if isinstance(member, ast.FunctionDef):
                assert hasattr(getattr(tracesmith, name), member.name), (
                    name, member.name)


def test_everything_public_has_a_docstring():
    for name in tracesmith.__all__:
        thing = getattr(tracesmith, name)
        assert thing.__doc__, name
        for key, member in vars(thing).items() if isinstance(
                thing, type) else ():
            if callable(member) and not key.startswith("_"):
                assert member.__doc__, (name, key)
