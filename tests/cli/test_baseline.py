"""`syncaudit baseline`: from the verdicts of a run to a policy that finds deviations."""

import json

import pytest

from syncaudit.policy import load_policy


def row(clip_id, offset_s, accepted=True):
    sources = {
        "wrist": {"verdict": "pass", "kind": "camera", "observable": False},
        "action": {"verdict": "pass", "kind": "state", "observable": False},
    }
    pair = {
        "source": "wrist",
        "target": "action",
        "method": "commanded_motion",
        "offset_s": offset_s,
        "offset_std_s": 0.001,
        "why": "refused where not accepted",
        "accepted": accepted,
        "is_baseline_only": True,
    }
    return {"clip_id": clip_id, "verdict": "pass", "sources": sources, "pairs": [pair]}


@pytest.fixture
def verdicts(tmp_path):
    """Return a function that writes a folder of verdicts."""

    def write(*rows):
        folder = tmp_path / "out"
        folder.mkdir(exist_ok=True)
        text = "".join(json.dumps(item) + "\n" for item in rows)
        (folder / "verdicts.jsonl").write_text(text, encoding="utf-8")
        clips = {"total": len(rows), "pass": len(rows), "reject": 0, "unverified": 0}
        summary = {"version": 1, "complete": True, "clips": clips}
        (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
        return str(folder)

    return write


def sentence(result):
    assert result.exit_code == 2, result.output
    return " ".join(result.output.split())


def test_a_fleet_gives_a_policy(invoke, verdicts, tmp_path):
    folder = verdicts(*(row(f"c{k}", -0.060 - 0.001 * k) for k in range(9)))
    out = tmp_path / "new" / "fleet.toml"
    result = invoke("baseline", folder, "--profile", "vla", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "commanded_motion: -64.0 ms, spread 2.97 ms, tolerance 20 ms, 9 clips" in result.output
    policy = load_policy(str(out))
    assert policy.baselines["commanded_motion"].offset_s == pytest.approx(-0.064)
    assert policy.required_kinds == load_policy(profile="vla").required_kinds


def test_the_file_itself_and_urls_are_read_alike(invoke, verdicts, tmp_path):
    import fsspec

    folder = verdicts(*(row(f"c{k}", -0.06) for k in range(8)))
    store = fsspec.filesystem("memory")
    for name in ("verdicts.jsonl", "summary.json"):
        store.pipe_file(f"/fleet/{name}", (tmp_path / "out" / name).read_bytes())
    texts = []
    for k, place in enumerate((folder, f"{folder}/verdicts.jsonl", "memory://fleet")):
        out = tmp_path / f"{k}.toml"
        assert invoke("baseline", place, "--out", str(out)).exit_code == 0
        texts.append(out.read_text(encoding="utf-8").splitlines()[1:])
    assert texts[0] == texts[1] == texts[2]


def test_a_policy_file_is_extended_from_another_folder(invoke, verdicts, tmp_path):
    (tmp_path / "base.toml").write_text('extends = "vla"\n[kinds.camera]\noffset_ms = 7.5\n')
    folder = verdicts(*(row(f"c{k}", -0.06) for k in range(8)))
    out = tmp_path / "deep" / "er" / "fleet.toml"
    result = invoke("baseline", folder, "--policy", str(tmp_path / "base.toml"), "-o", str(out))
    assert result.exit_code == 0, result.output
    policy = load_policy(str(out))
    assert policy.kinds["camera"].offset_s == pytest.approx(0.0075)
    assert 'extends = "../../base.toml"' in out.read_text(encoding="utf-8")


def test_a_policy_that_cannot_be_extended_is_told(invoke, verdicts, tmp_path):
    folder = verdicts(*(row(f"c{k}", -0.06) for k in range(8)))
    base, odd = tmp_path / "base.toml", tmp_path / "base.conf"
    for path in (base, odd):
        path.write_text('extends = "vla"\n')
    out = str(tmp_path / "fleet.toml")
    assert "must be a .toml file" in sentence(
        invoke("baseline", folder, "--policy", str(odd), "--out", out)
    )
    assert "would be overwritten" in sentence(
        invoke("baseline", folder, "--policy", str(base), "--out", str(base))
    )
    both = invoke("baseline", folder, "--policy", str(base), "--profile", "vla", "--out", out)
    assert "cannot be extended together" in sentence(both)


def test_too_few_clips_are_told(invoke, verdicts, tmp_path):
    folder = verdicts(*(row(f"c{k}", -0.06) for k in range(3)))
    out = tmp_path / "fleet.toml"
    said = sentence(invoke("baseline", folder, "--out", str(out)))
    assert "only 3 clips with commanded_motion, at least 8 needed" in said
    assert not out.exists()


def test_a_method_of_few_clips_is_left_out(invoke, verdicts, tmp_path):
    rows = [row(f"c{k}", -0.06) for k in range(8)]
    rows[0]["pairs"].append(rows[0]["pairs"][0] | {"method": "command"})
    out = tmp_path / "fleet.toml"
    result = invoke("baseline", verdicts(*rows), "--out", str(out))
    assert "command: left out: only 1 clip, at least 8 needed" in result.output
    assert set(load_policy(str(out)).baselines) == {"commanded_motion"}


def test_verdicts_without_such_measurements_are_told(invoke, verdicts, tmp_path):
    folder = verdicts(*(row(f"c{k}", -0.06, accepted=False) for k in range(9)))
    said = sentence(invoke("baseline", folder, "--out", str(tmp_path / "fleet.toml")))
    assert "no clip has an accepted measurement that is judged by a baseline" in said


@pytest.mark.parametrize("content", [None, b"", b'{"clip_id": "half', b"\xff\xfe\n[]\n7\n"])
def test_missing_and_damaged_verdicts_are_told(invoke, tmp_path, content):
    (tmp_path / "out").mkdir()
    if content is not None:
        (tmp_path / "out" / "verdicts.jsonl").write_bytes(content)
    out = str(tmp_path / "fleet.toml")
    said = sentence(invoke("baseline", str(tmp_path / "out"), "--out", out))
    assert ("holds no verdicts" if content is not None else "cannot be read") in said


@pytest.mark.parametrize(
    "damage", [{"pairs": None}, {"pairs": [7]}, {"sources": []}, {"pairs": [{}]}]
)
def test_rows_of_something_else_are_told(invoke, verdicts, tmp_path, damage):
    folder = verdicts(row("c0", -0.06), row("c1", -0.06) | damage)
    said = sentence(invoke("baseline", folder, "--out", str(tmp_path / "fleet.toml")))
    assert "line 2 is not a verdict as a run writes it" in said


def test_a_file_that_cannot_be_written_is_told(invoke, verdicts, tmp_path):
    folder = verdicts(*(row(f"c{k}", -0.06) for k in range(8)))
    assert "cannot be written" in sentence(invoke("baseline", folder, "--out", str(tmp_path)))
