"""The functions give the answers of the program.

A backend with planted errors answers the cases of a suite twice: as a backend of `qconform run`, where the program
makes the cases, sends them to a worker and judges; and here, where the package makes the cases and judges.
"""

import planted
import pytest

import qconform
from qconform import backends, evaluate


def the_programs_verdicts(suites, **options):
    """Of each case, in their order: its id, the verdict, and the strictest tier."""
    backend = backends.function(planted.planted, feeds_all=False)
    report = qconform.run(backend, suites, explain=False, shrink=False, within=False, **options)
    results = report.document["results"]
    (column,) = results["backends"]
    assert len(results["id"]) == report.cases
    names = [results["verdicts"][index] for index in column["verdict"]]
    tiers = [None if index is None else results["tiers"][index] for index in column["tier"]]
    return list(zip(results["id"], names, tiers))


def the_packages_verdicts(suites, **options):
    verdicts = []
    for suite in suites:
        for case in qconform.cases(suite, **options):
            verdict = case.judge(planted.planted(case.model, case.inputs))
            verdicts.append((case.id, verdict.verdict, verdict.tier))
    return verdicts


def assert_same(suites, **options):
    theirs = the_programs_verdicts(suites, **{("cases" if k == "count" else k): v for k, v in options.items()})
    ours = the_packages_verdicts(suites, **options)
    assert len(ours) == len(theirs)
    different = [(our, their) for our, their in zip(ours, theirs) if our != their]
    assert not different
    return ours


def test_on_a_sample():
    verdicts = assert_same(["random", "graphs"], seed=11, count=150)
    assert {"pass", "wrong"} <= {verdict for _, verdict, _ in verdicts}


@pytest.mark.slow
def test_on_the_whole_conformance_suite():
    verdicts = assert_same(["conformance"])
    assert len(verdicts) > 17_000
    assert {"pass", "wrong", "not-rejected", "vacuous"} <= {verdict for _, verdict, _ in verdicts}


def test_every_vector_of_the_corpus_has_the_recorded_answer_among_its_sets():
    """The corpus states answers: each is judged right, and lies in the sets element by element."""
    judged = 0
    for case in qconform.cases("corpus"):
        if case.expectation != "valid":
            continue
        expected = evaluate.Expected(case._handle)
        outputs = expected.reference()
        assert expected.judge(outputs), case.id
        for sets, output in zip(expected.admissible(), outputs):
            assert sets.contains(output).all(), case.id
            inside = sets.low.astype("float64") <= output.astype("float64")
            assert (inside | (output != output)).all(), case.id
        judged += 1
    assert judged > 1000
