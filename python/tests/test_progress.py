"""Progress, and what Ctrl-C leaves."""

import os
import re
import subprocess
import sys
import textwrap

import pytest
import samples

import qconform


def test_a_run_tells_how_far_it_has_come(tmp_path):
    told = []
    report = qconform.run("defect:half-away", "directed", cases=4000, out=tmp_path, explain=False, progress=told.append)
    assert report.cases == 4000
    counted = [progress for progress in told if progress.text.startswith("directed: ")]
    assert counted, told
    assert all(progress.total == 4000 and 0 < progress.done <= 4000 for progress in counted)
    assert [progress.done for progress in counted] == sorted(progress.done for progress in counted)
    assert f"{counted[0].done:,} of 4,000 cases" in counted[0].text


def test_a_watcher_that_raises_ends_the_run(tmp_path):
    def refuse(progress):
        raise LookupError(progress.text)

    with pytest.raises(LookupError, match="directed"):
        qconform.run("scalar", "directed", cases=1_000_000, out=tmp_path, progress=refuse)


def test_errors_are_told_as_before(tmp_path):
    told = []
    with pytest.raises(qconform.Error, match="no suite"):
        qconform.run(samples.off_by_one, "no-such-suite", out=tmp_path, progress=told.append)


@pytest.mark.parametrize("call", ['run("scalar", "directed", cases=1_000_000', 'fuzz("scalar", seed=1'])
def test_ctrl_c_leaves_the_report(call, tmp_path):
    script = textwrap.dedent(
        """
        import os, signal, sys
        import qconform

        def stop(progress):
            if (progress.done or "fuzz: " in progress.text) and not sent:
                sent.append(progress)
                os.kill(os.getpid(), signal.SIGINT)

        sent = []
        try:
            qconform.CALL, out=sys.argv[1], progress=stop)
        except qconform.Interrupted as error:
            assert isinstance(error, KeyboardInterrupt)
            print(error.report.cases, len(error.report.backends), error)
        """
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    done = subprocess.run(
        [sys.executable, "-c", script.replace("CALL", call), str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=True,
    )
    cases, backends = (int(word) for word in done.stdout.split()[:2])
    assert 0 < cases < 1_000_000
    assert backends == 1
    assert str(tmp_path) in done.stdout
    assert (tmp_path / "report.json").is_file()


def test_the_version_is_that_of_the_program():
    assert re.fullmatch(r"\d+\.\d+\.\d+", qconform.__version__)
    with pytest.raises(AttributeError):
        qconform.no_such_name  # noqa: B018
