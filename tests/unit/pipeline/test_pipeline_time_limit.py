"""Runs with a time limit: the plan is kept and followed, and more time makes a new one."""

import hashlib
import json
import signal

import pytest
from pipeline_cases import quick

import regard
from regard.config.toml import to_toml
from regard.pipeline import run_plan
from regard.training import loop
from regard.training.plan import Pace
from regard.training.run_folder import RunFolder

LIMITED = {"max_steps": 900, "max_minutes": 1.0, "dropout": 0.2, "average_checkpoints": 2}
AUTOMATIC = ("validate_every", "save_every", "report_every")
SECONDS_PER_UPDATE = 8.0


@pytest.fixture
def pace(monkeypatch):
    """Make up the pace; the returned function makes up another."""

    def set_pace(seconds):
        monkeypatch.setattr(run_plan, "_measure", lambda *_: Pace(seconds, 0.1, 0.1))

    set_pace(SECONDS_PER_UPDATE)
    return set_pace


def limited(out, **options):
    return quick(out=out, **{**LIMITED, **options})


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def stop_after(monkeypatch, step):
    """Stop the run in this block as Ctrl-C does, after an update."""
    update = loop.update

    def stopping(*given):
        if given[-1] == step:
            signal.raise_signal(signal.SIGINT)
        return update(*given)

    monkeypatch.setattr(loop, "update", stopping)


def test_a_limited_run_ends_as_planned_and_says_so(tmp_path, pace, capsys):
    out = tmp_path / "m.regard"
    translator = limited(out, quiet=False)
    steps = translator.summary["steps"]
    assert 5 <= steps <= 8
    train = translator.settings.train
    assert (train.max_steps, train.max_minutes) == (steps, 1.0)
    assert (tmp_path / "m.run" / "settings.toml").read_text() == to_toml(translator.settings)
    said = capsys.readouterr().err
    assert f"planned for 1 minute: {steps} of 900 updates of 8 s" in said
    assert f"1 minute sufficed for {steps} of 900 updates, as planned" in said


def test_a_resumed_run_follows_its_plan_at_any_pace(tmp_path, pace, monkeypatch):
    limited(tmp_path / "whole.regard")
    out = tmp_path / "m.regard"
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            limited(out)
    # the best model so far is usable
    unfinished = regard.load(out)
    assert (unfinished.summary["steps"], unfinished.summary["unfinished"]) == (3, True)
    assert unfinished.translate("12").text is not None
    pace(0.001)
    resumed = limited(out, resume=True)
    assert "unfinished" not in resumed.summary
    assert digest(out) == digest(tmp_path / "whole.regard")
    # the settings of the run folder are those of this run, too
    tree = (tmp_path / "m.run" / "settings.toml").read_text()
    assert f"max_steps = {resumed.summary['steps']}\n" in tree


def test_a_plan_is_kept_before_the_first_save(tmp_path, pace):
    out = tmp_path / "m.regard"
    steps = limited(out).summary["steps"]
    before, kept = digest(out), (tmp_path / "m.run" / "plan.json").read_text()
    pace(SECONDS_PER_UPDATE / 2)
    for path in (out, tmp_path / "m.run" / "state.safetensors"):
        path.unlink()
    limited(out, resume=True)
    assert digest(out) == before
    # a damaged plan, and one of other settings, are made anew
    plan = json.loads(kept)
    plan["plan"]["max_steps"] = 3
    for text, options in ((json.dumps(plan), {}), ("{", {}), (kept, {"learning_rate": 0.001})):
        (tmp_path / "m.run" / "plan.json").write_text(text)
        for path in (out, tmp_path / "m.run" / "state.safetensors"):
            path.unlink()
        assert limited(out, resume=True, **options).summary["steps"] > steps + 3


def test_more_time_needs_no_other_flag_and_is_recorded(tmp_path, pace):
    out, folder = tmp_path / "m.regard", RunFolder(tmp_path / "m.run")
    steps = limited(out).summary["steps"]
    assert limited(out, resume=True).summary["steps"] == steps
    longer = limited(out, resume=True, max_minutes=2.0)
    assert longer.summary["steps"] == pytest.approx(2 * steps, abs=2)
    assert folder.recipe()["plan"]["max_steps"] == longer.summary["steps"]
    assert folder.recipe()["plan"]["minutes"] == 2.0
    # less time is another run
    with pytest.raises(regard.errors.ConfigError, match=r"max_minutes: 2\.0 → 1\.0"):
        limited(out, resume=True)


def test_a_run_that_is_too_slow_stops_in_time_and_can_go_on(tmp_path, pace, monkeypatch, capsys):
    limited(tmp_path / "whole.regard")
    out = tmp_path / "m.regard"
    with monkeypatch.context() as patch:
        # the plan is the same, but its time is over
        patch.setattr(run_plan, "MIN_SLACK_SECONDS", -1000.0)
        patch.setattr(run_plan, "SLACK_SHARE", -1000.0)
        unfinished = limited(out, quiet=False)
    assert (unfinished.summary["steps"], unfinished.summary["unfinished"]) == (1, True)
    assert unfinished.summary["scores"]
    assert "stopped after 1 of 900 updates" in capsys.readouterr().err
    limited(out, resume=True)
    assert digest(out) == digest(tmp_path / "whole.regard")


def test_an_interrupt_keeps_an_older_model_until_there_is_a_better_one(
    tmp_path, monkeypatch, capsys
):
    out = tmp_path / "m.regard"
    quick(out=out)
    before = digest(out)
    stop_after(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        quick(out=out, overwrite=True, seed=7, quiet=False)
    assert digest(out) == before
    assert f"{out} is unchanged" in capsys.readouterr().err
