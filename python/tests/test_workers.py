"""What a backend may be, and what becomes of one that goes wrong: each in a worker of its own."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
import samples

import qconform
from qconform import backends
from qconform._asking import Declined, answer_of

CASE = """{"format": "qconform-cases", "version": 1, "cases": [{
  "id": "two", "expectation": "valid", "op_type": "DequantizeLinear", "opset_version": 19,
  "inputs": [{"name": "x", "type": "uint8", "shape": [2], "data": [3, 5]},
             {"name": "x_scale", "type": "float", "shape": [], "data": [0.5]},
             {"name": "x_zero_point", "type": "uint8", "shape": [], "data": [1]}]}]}"""


@pytest.fixture
def case(tmp_path):
    file = tmp_path / "case.json"
    file.write_text(CASE)
    return file


def forked(function):
    """Handed on by fork: a lambda cannot be imported."""
    return lambda model, inputs: function(model, inputs)


#: Each starts an interpreter, which takes longer than all the rest.
IMPORTED = pytest.param(lambda function: function, id="imported", marks=pytest.mark.slow)
HOW = pytest.mark.parametrize("how", [IMPORTED, pytest.param(forked, id="forked")])


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(samples.dequantize, id="function", marks=pytest.mark.slow),
        pytest.param(forked(samples.dequantize), id="lambda"),
        pytest.param("samples:dequantize", id="name"),
        pytest.param(samples.ReferenceBackend, id="Backend"),
        pytest.param(backends.backend(samples.NeedsAllFed, feeds_all=True), id="all fed", marks=pytest.mark.slow),
        pytest.param(samples.session, id="session", marks=pytest.mark.slow),
        pytest.param(samples.ReferenceEvaluator, id="class of sessions", marks=pytest.mark.slow),
        pytest.param("scalar", id="program"),
    ],
)
def test_forms_of_a_backend(backend, case):
    verdict = qconform.replay(backend, case)
    assert verdict, str(verdict)
    assert verdict.verdict == "pass"


@pytest.mark.slow
def test_weights_are_constants_unless_all_is_fed(case):
    verdict = qconform.replay(samples.NeedsAllFed, case)
    assert (verdict.verdict, verdict.detail) == ("unsupported", "is_compatible() returns False")
    assert not verdict


WRONG = [
    (samples.off_by_one, "wrong", "2 of 2 elements wrong"),
    (samples.identity, "bad-shape", "output uint8 [2], expected float [2]"),
    (samples.aborts, "crashed", "Aborted"),
    (samples.segfaults, "crashed", "Segmentation fault"),
    (samples.exits, "exited", "3"),
    (samples.exits_at_once, "exited", "4"),
    (samples.raises, "unsupported", "ValueError: a thing that is not so"),
    (samples.returns_nothing, "exited", "1"),
    (samples.too_many, "exited", "1"),
]


@pytest.mark.parametrize(("function", "verdict", "detail"), WRONG)
def test_what_a_backend_does_wrong(function, verdict, detail, case):
    check_what_it_does_wrong(forked(function), verdict, detail, case)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "verdict", "detail"), [WRONG[2], WRONG[4]])
def test_what_an_imported_backend_does_wrong(function, verdict, detail, case):
    check_what_it_does_wrong(function, verdict, detail, case)


def check_what_it_does_wrong(backend, verdict, detail, case):
    found = qconform.replay(backend, case)
    assert found.verdict == verdict, str(found)
    assert detail in found.detail
    assert not found


NO_REFUSALS = [
    (samples.returns_nothing, "BadAnswer: the backend's answer is not a list of arrays: output: no element type"),
    (samples.too_many, "BadAnswer: expected 1 outputs, got 2"),
    (lambda model, inputs: np.array([object()]), "no element type of ONNX for arrays of object"),
    (samples.lacks_memory, "MemoryError: for a table"),
]


@pytest.mark.parametrize(("function", "reason"), NO_REFUSALS)
def test_what_is_no_answer_refuses_no_case(function, reason, small_suite):
    case = next(case for case in qconform.cases(str(small_suite)) if case.expectation == "invalid")
    found = qconform.replay(forked(function), case)
    assert found.verdict == "exited", str(found)
    assert reason in found.log
    assert qconform.replay(forked(samples.raises), case).verdict == "refused"


def test_outputs_by_name_and_fewer_of_them():
    outputs = (("y", 2, [3]), ("scale", 1, []), ("zero_point", 2, []))
    names = [name for name, _, _ in outputs]
    node = onnx.helper.make_node("DynamicQuantizeLinear", ["x"], names)
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [3])],
        [onnx.helper.make_tensor_value_info(*output) for output in outputs],
        [onnx.numpy_helper.from_array(np.array([1, 2, 3], np.float32), "x")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])
    target = backends.function(lambda model, inputs: dict(reversed(list(zip(names, samples.reference(model, inputs))))))
    answers = answer_of(target)(model.SerializeToString())
    assert [onnx.TensorProto.FromString(answer).data_type for answer in answers] == [2, 1, 2]
    fewer = backends.function(lambda model, inputs: samples.reference(model, inputs)[:2])
    assert len(answer_of(fewer)(model.SerializeToString())) == 2


def test_a_question_that_cannot_be_put_is_declined_by_the_harness():
    with pytest.raises(Declined, match=r"^harness: "):
        answer_of(backends.function(samples.identity))(b"no model")


def test_a_crash_shows_where_python_was(case):
    log = qconform.replay(samples.aborts, case).log
    assert "Fatal Python error: Aborted" in log
    assert "samples.py" in log


@HOW
def test_prints_are_the_log(how, case):
    found = qconform.replay(how(samples.speaks), case)
    assert found.verdict == "wrong"
    assert "a line by Python" in found.log
    assert "a line by the system" in found.log


@HOW
def test_a_time_out(how, case):
    assert qconform.replay(how(samples.hangs), case, timeout=0.5).verdict == "timed-out"
    assert processes_that_hang() == []


def processes_that_hang():
    """Workers of these tests: those that sleep would stay for long."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"qconform.serve" in line or b"_relay.py" in line or (parent == os.getpid() and int(folder.name) > 1):
            found.append(line)
    return [line for line in found if b"samples:hangs" in line or b"_relay.py" in line]


@HOW
def test_too_much_memory(how, case):
    assert qconform.replay(how(samples.devours), case, memory_limit=300).verdict == "out-of-memory"


def test_a_crash_is_a_finding_and_the_run_goes_on(tmp_path):
    seen = []

    def crashes_on_uint8(model, inputs):
        seen.append(1)  # in the worker alone
        if inputs[0].dtype == "uint8":
            os.abort()
        return samples.reference(model, inputs)

    report = qconform.run(crashes_on_uint8, "random", cases=60, shrink=False, explain=False, within=False)
    assert seen == []
    backend = report.backends[0]
    assert backend.count("crashed") > 3
    assert backend.count("pass") > 3
    assert backend.name == "test_a_crash_is_a_finding_and_the_run_goes_on.<locals>.crashes_on_uint8"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken_import:compute", "cannot import broken_import: RuntimeError: no such device: card 7"),
        pytest.param("samples:no_such_function", "samples has no no_such_function", marks=pytest.mark.slow),
        pytest.param("samples:SESSIONS", "expected f(model, inputs)", marks=pytest.mark.slow),
        ("no-such-backend", "no-such-backend"),
    ],
)
def test_a_backend_that_cannot_be_opened_is_an_error(name, message, case):
    with pytest.raises(qconform.Error) as caught:
        qconform.replay(name, case)
    assert message in str(caught.value)


def test_an_object_that_is_no_backend_is_an_error():
    with pytest.raises(qconform.Error) as caught:
        qconform.run(3)
    assert caught.value.field == "backend"
    assert caught.value.value == "3"


INTERRUPTED = """
import os, signal, sys, threading, time
import qconform, samples
def hang(model, inputs):
    open(sys.argv[1], "w").close()
    time.sleep(1000)
def interrupt():
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
try:
    qconform.replay(hang, sys.argv[2], timeout=600)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_leaves_nothing_behind(case, tmp_path):
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "started"), str(case)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=Path(__file__).parent,
        check=False,
    )
    assert done.stdout == "interrupted\n", done.stderr
    assert time.monotonic() - started < 100
    deadline = time.monotonic() + 10
    while (left := processes_with(str(tmp_path))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def processes_with(text):
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes()
        except OSError:
            continue
        if text.encode() in line and int(file.parent.name) != os.getpid():
            found.append(line)
    return found


def test_a_fork_beside_threads(case):
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        assert qconform.replay(forked(samples.dequantize), case)
    finally:
        stop.set()


def test_a_backend_sees_a_live_object(case):
    calls = {"scale": 1}
    calls["scale"] = 2

    def scaled(model, inputs):
        return samples.dequantize(model, inputs) * calls["scale"]

    assert qconform.replay(scaled, case).verdict == "wrong"
    calls["scale"] = 1
    assert qconform.replay(scaled, case).verdict == "pass"


def test_signals_of_the_parent_stay(case):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGCHLD)
    qconform.replay(forked(samples.dequantize), case)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGCHLD)) == before
