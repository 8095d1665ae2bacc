"""The package's public API: it follows the library's own lists, and changes become visible."""

import dataclasses
import difflib
import enum
import importlib
import inspect
import os
import re
import typing
from pathlib import Path

import folkmoot
import pytest
from folkmoot import errors, events
from folkmoot._native import folkmoot_mobile as native

API = Path(__file__).parents[2] / "api.txt"
PACKAGE = Path(__file__).parents[1] / "api.txt"
SWIFT = Path(__file__).parents[2] / "swift/Tests/FolkmootTests/SurfaceTests.swift"


def test_every_error_code_has_a_member():
    infos = native.error_codes()
    assert [code.value for code in folkmoot.ErrorCode] == [info.text for info in infos]
    assert [code.name for code in folkmoot.ErrorCode] == [info.code.name for info in infos]
    for info in infos:
        code = folkmoot.ErrorCode(info.text)
        assert (code.http_status, code.disposition.name) == (info.http_status, info.disposition.name)
        refused = errors.translated(native.FolkmootError.Refused(code=info.code, detail="why"))
        assert isinstance(refused, folkmoot.RefusedError) and refused.code is code and str(refused) == "why"
    assert [one.name for one in folkmoot.Disposition] == [one.name for one in native.Disposition]


def test_the_tests_for_swift_handle_every_code():
    # Where no Swift is compiled, nothing else would detect this.
    tests = SWIFT.read_text()
    handled = re.findall(r"case \.`?(\w+)`?: return \"(\w+)\"", tests)
    texts = [info.text for info in native.error_codes()]
    assert handled == [(re.sub(r"_(\w)", lambda found: found[1].upper(), text), text) for text in texts]


def variants(of):
    return {name: kind for name, kind in vars(of).items() if inspect.isclass(kind)}


def test_every_error_has_a_class():
    for name, kind in variants(native.FolkmootError).items():
        parameters = [p for p in inspect.signature(kind).parameters]
        error = errors.translated(kind(**{parameter: None for parameter in parameters}))
        assert type(error) is not folkmoot.InternalError or name == "Internal", name
        assert str(error) or parameters, name


def test_every_event_has_a_class_with_the_same_fields():
    assert {name.lower() for name in variants(native.ClientEvent)} == set(events.NAMES)
    for name, kind in variants(native.ClientEvent).items():
        fields = [field.name for field in dataclasses.fields(events.NAMES[name.lower()])]
        assert fields == list(inspect.signature(kind).parameters), name
        told_name, told = events.translated(kind(**{field: index for index, field in enumerate(fields)}))
        assert (told_name, list(vars(told).values())) == (name.lower(), list(range(len(fields))))


MODULES = ["folkmoot", *(f"folkmoot.{name}" for name in "admin aio export flower sklearn testing torch".split())]


@pytest.mark.parametrize("module", MODULES)
def test_everything_public_is_described(module):
    if module == "folkmoot.sklearn":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    public = importlib.import_module(module)
    for name in public.__all__:
        thing = getattr(public, name)
        assert inspect.getdoc(thing) or name == "Config", name
        for method, function in inspect.getmembers(thing, inspect.isfunction):
            if not method.startswith("_") and function.__module__.startswith("folkmoot"):
                assert inspect.getdoc(function), f"{name}.{method}"
                hints = typing.get_overloads(function) or [function]
                for one in hints:
                    assert inspect.signature(one).return_annotation is not inspect.Signature.empty, f"{name}.{method}"


def package_surface(module):
    """Returns the public names of a module, with the signatures of functions and methods, one a line."""
    public, lines = importlib.import_module(module), [module]
    for name in sorted(public.__all__):
        thing = getattr(public, name)
        # The classes of the native library are in its own list.
        is_own = getattr(thing, "__module__", "").startswith("folkmoot.") and "_native" not in thing.__module__
        is_class = inspect.isclass(thing)
        is_made = not is_class or not (
            issubclass(thing, (Exception, enum.Enum)) or getattr(thing, "_is_protocol", False)
        )
        has_signature = is_made and callable(thing)
        lines.append(f"    {name}{inspect.signature(thing) if is_own and has_signature else ''}")
        lines += [f"        {line}" for line in (public_methods(thing) if is_class and is_own else ())]
    return lines


def public_methods(kind):
    members = {name: one for base in reversed(kind.__mro__) for name, one in vars(base).items()}
    for name, one in sorted(members.items()):
        function = getattr(one, "__func__", one)
        is_own = inspect.isfunction(function) and function.__module__.startswith("folkmoot.")
        if not name.startswith("_") and is_own:
            yield f"{'async ' * inspect.iscoroutinefunction(function)}{name}{inspect.signature(function)}"


def test_the_packages_surface_is_the_one_that_was_reviewed():
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    now = "\n".join(line for module in MODULES for line in package_surface(module))
    check_reviewed(PACKAGE, re.sub(r" at 0x[0-9a-f]+", "", now) + "\n")


def surface():
    """Returns the library's API as text, with one line per function, method, field and variant."""
    lines = []
    for name, thing in sorted(vars(native).items()):
        if name.startswith("_") or getattr(thing, "__module__", None) != native.__name__ or name.startswith("uniffi"):
            continue
        if inspect.isclass(thing) and name.endswith(("Protocol", "Impl")):
            continue
        if inspect.isclass(thing):
            lines += [f"{name}", *(f"    {line}" for line in members(thing))]
        elif inspect.isfunction(thing):
            lines.append(f"{name}{inspect.signature(thing)}")
    text = "\n".join(lines)
    return re.sub(r"<object object at 0x[0-9a-f]+>", "default", text.replace("typing.", "")) + "\n"


def members(kind):
    if issubclass(kind, enum.Enum):
        return [member.name for member in kind]
    nested = [f"{name}{inspect.signature(one)}" for name, one in variants(kind).items()]
    if nested:
        return nested
    if dataclasses.is_dataclass(kind):
        return [f"{name}: {parameter.annotation}" for name, parameter in inspect.signature(kind).parameters.items()]
    methods = [(name, one) for name, one in vars(kind).items() if not name.startswith("_")]
    functions = [(name, getattr(one, "__func__", one)) for name, one in methods]
    is_async = inspect.iscoroutinefunction
    return [
        f"{'async ' * is_async(one)}{name}{inspect.signature(one)}"
        for name, one in functions
        if inspect.isfunction(one)
    ]


def test_the_surface_is_the_one_that_was_reviewed():
    check_reviewed(API, surface())


def check_reviewed(path, now):
    if os.environ.get("BLESS") == "1":
        path.write_text(now)
    before = path.read_text() if path.is_file() else ""
    if now != before:
        changes = "\n".join(difflib.unified_diff(before.splitlines(), now.splitlines(), "reviewed", "now", lineterm=""))
        accept = "BLESS=1 cargo xtask test --only python"
        pytest.fail(f"{path} is not the API. If you want these changes, run `{accept}`:\n{changes}", pytrace=False)
