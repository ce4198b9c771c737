"""What a backend may be, and how a case is put to it.

    qconform.run(function)                      # function(model, inputs) -> array, or a list of arrays
    qconform.run(MyBackend)                     # a class or module with the interface of onnx.backend.base.Backend
    qconform.run(onnxruntime.InferenceSession)  # what makes a session of a serialized model
    qconform.run("my.module:function")          # any of these by name
    qconform.run("onednn")                      # a backend of the program: `qconform list backends`

`function()`, `backend()` and `session()` say which of them an object is, where it does not tell by itself.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, Union

import onnx

from qconform import _tensors
from qconform._tensors import Array
from qconform.errors import Error

#: Kinds of names that only the program has; any other NAME:NAME is a Python object.
PROGRAM_KINDS = ("plugin", "process", "defect", "onnx", "model")
_PYTHON_NAME = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<attribute>[A-Za-z_][\w.]*)")


class Unsupported(Exception):
    """Raise it for a case that the backend does not implement: the case is declined, with this text."""


@dataclass(frozen=True)
class Target:
    """A Python object that computes cases, and in which way it is asked."""

    #: None of what only its worker imports
    object: Any
    #: "function", "backend" or "session"; None where the worker finds out
    kind: Optional[str]
    #: "module:attribute" where another process can import it; else it is handed on by fork
    path: Optional[str]
    #: how reports call it
    name: str
    #: whether weights and parameters are inputs of the graph too; else they are its initializers
    feeds_all: bool


@dataclass(frozen=True)
class Named:
    """A backend of the program."""

    name: str
    #: how reports call it, where that is not `name`
    shown: Optional[str] = None


def function(object: Callable[..., Any], *, feeds_all: bool = False) -> Target:
    """A callable f(model, inputs) -> an array, or a list of them for several outputs.

    `model` is an onnx.ModelProto, `inputs` are NumPy arrays for its graph's inputs, in their order: x, or what is fed
    to a graph of several nodes. Weights and parameters are initializers, as in a network; with `feeds_all` they are
    inputs too, as in ONNX's own node tests.
    """
    return _target(object, "function", feeds_all)


def backend(object: Any, *, feeds_all: bool = False) -> Target:
    """A class, module or instance with the interface of onnx.backend.base.Backend: run_model() or prepare()."""
    return _target(object, "backend", feeds_all)


def session(factory: Callable[..., Any], *, feeds_all: bool = False) -> Target:
    """A factory of sessions as ONNX Runtime has them: factory(serialized model) -> object with run(None, feeds)."""
    return _target(factory, "session", feeds_all)


def node_inputs(model: onnx.ModelProto, inputs: Sequence[Array]) -> list[Optional[Array]]:
    """The inputs of a model's only node by position: what is fed, and what the model holds. None for omitted ones."""
    graph = model.graph
    known = dict(zip((value.name for value in graph.input), inputs))
    held = {tensor.name: tensor for tensor in graph.initializer}
    positions = graph.node[0].input
    return [known[n] if n in known else _tensors.to_array(held[n]) if n else None for n in positions]


def resolve(backend: Union[str, Any], name: Optional[str] = None) -> Union[Target, Named]:
    """What `backend` is. An object that is no backend is an error; a name is looked up where it is used."""
    if isinstance(backend, (Named, Target)):
        found = backend
    elif isinstance(backend, str):
        found = _named(backend)
    else:
        found = _target(backend, _kind_of(backend), False)
    if name is None or isinstance(found, Named):
        return found
    return Target(found.object, found.kind, found.path, name, found.feeds_all)


def load(path: str) -> Any:
    """The object that "module:attribute" names."""
    module, _, attribute = path.partition(":")  # without an attribute the module itself
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise Error(f"cannot import {module}: {_text_of(error)}", field="backend", value=path) from error
    for part in filter(None, attribute.split(".")):
        if not hasattr(found, part):
            raise Error(f"{module} has no {attribute}", field="backend", value=path)
        found = getattr(found, part)
    return found


def chosen(path: str, kind: Optional[str] = None, feeds: Optional[str] = None) -> Target:
    """The object that "module:attribute" names, asked in the stated way: of a kind, feeding "all" or "activations"."""
    found = load(path)
    target = found if isinstance(found, Target) else _target(found, kind or _kind_of(found), False)
    return Target(
        target.object,
        kind or target.kind,
        path,
        path,
        target.feeds_all if feeds is None else feeds == "all",
    )


def import_folder(path: str) -> Optional[str]:
    """The folder that has to be in sys.path for "module:attribute"; None where every Python of this prefix has it."""
    module = sys.modules.get(path.partition(":")[0].partition(".")[0])
    file = getattr(module, "__file__", None)
    places = [file] if file else list(getattr(module, "__path__", []))
    if not places:
        return None
    folder = Path(places[0]).resolve().parent
    if Path(places[0]).name == "__init__.py" or not file:
        folder = folder.parent if file else folder
    prefixes = (Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve())
    return None if any(prefix in folder.parents for prefix in prefixes) else str(folder)


def _named(text: str) -> Union[Target, Named]:
    match = _PYTHON_NAME.fullmatch(text)
    if not match or match["module"] in PROGRAM_KINDS:
        return _of_this_environment(text)
    # The worker imports it: that may take long, print, or crash.
    return Target(None, None, text, text, False)


def _of_this_environment(text: str) -> Named:
    """ONNX Runtime without a version is that of the running Python, where its package is installed: the program loads
    its library and judges it natively."""
    word = text[len("onnxruntime") :]
    if not text.startswith("onnxruntime") or (word and not word.startswith("@")):
        return Named(text)
    spec = importlib.util.find_spec("onnxruntime")
    for folder in (spec.submodule_search_locations or []) if spec is not None else []:
        if any(Path(folder, "capi").glob("libonnxruntime.so*")):
            return Named(f"onnxruntime:{Path(folder).resolve()}{word}", text)
    return Named(text)


def _kind_of(object: Any) -> str:
    if callable(getattr(object, "run_model", None)) or callable(getattr(object, "prepare", None)):
        return "backend"
    if inspect.isclass(object) and callable(getattr(object, "run", None)):
        return "session"
    if callable(object):
        if _takes(object, 2):
            return "function"
        if _takes(object, 1):
            return "session"
    raise Error(
        f"expected f(model, inputs), an onnx.backend.base.Backend, a factory f(model) of sessions, or a name, "
        f"got {object!r}",
        field="backend",
        value=repr(object),
    )


def _takes(object: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(object).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # without a signature, as some of C have
        return count == 2
    return True


def _target(object: Any, kind: Optional[str], feeds_all: bool) -> Target:
    path = _path_of(object)
    return Target(object, kind, path, _name_of(object), feeds_all)


def _path_of(object: Any) -> Optional[str]:
    """ "module:attribute" where importing that gives the object; None for what was made at run time."""
    if inspect.ismodule(object):
        return f"{object.__name__}:" if sys.modules.get(object.__name__) is object else None
    module, name = getattr(object, "__module__", None), getattr(object, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    loads_again = getattr(sys.modules.get(module), "__spec__", None) is not None
    return f"{module}:{name}" if found is object and loads_again else None


def _name_of(object: Any) -> str:
    name = getattr(object, "__qualname__", None) or getattr(object, "__name__", None)
    return str(name) if name else type(object).__name__


def version_of(target: Target) -> str:
    """The package that the object is of, with its version; empty where it states none."""
    module = getattr(target.object, "__module__", None) or getattr(target.object, "__name__", "")
    package = str(module).partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", None)
    return f"{package} {version}" if version else ""


def _text_of(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def outputs_of(answer: Any, names: Sequence[str]) -> Sequence[Any]:
    """What a callable returned, as a sequence of the outputs with these names: one may stand alone."""
    if isinstance(answer, dict):
        return [answer[name] for name in names] if set(answer) == set(names) else list(answer.values())
    if isinstance(answer, (list, tuple)) and (len(names) != 1 or (len(answer) > 0 and _is_tensor(answer[0]))):
        return answer
    return [answer]


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "__array__") or isinstance(value, onnx.TensorProto)
