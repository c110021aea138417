"""keep.json names every episode once, and keeps it only if all of its clips passed."""

import json
from dataclasses import replace

from syncaudit.batch import fingerprint_of, judge_again, merge_shards, read_shard, run_batch
from syncaudit.batch.episodes import episode_lists, write_keep
from syncaudit.batch.ledger import VerdictFile
from syncaudit.datasets import clip_to_row, load_manifest
from syncaudit.model import Origin
from testkit.fake_audits import POLICY, audit, make_clip


def clip(name, episode, *, dataset="/data/pusht", total=None):
    origin = Origin(dataset=dataset, episode_index=episode, total_episodes=total)
    return replace(make_clip(name), origin=origin)


def verdict_of(name):
    return {"p": "pass", "r": "reject", "u": "unverified"}.get(name[0])


def test_what_did_not_pass_is_excluded_whatever_the_reason():
    clips = [clip("p0", 0), clip("r", 3), clip("u", 2), clip("p1", 11), clip("stopped", 7)]
    [lists] = episode_lists(clips, verdict_of)
    assert lists["keep"] == [0, 11]
    assert (lists["reject"], lists["unverified"], lists["unknown"]) == ([3], [2], [7])
    assert lists["episodes"] == "[0,11]"
    assert lists["exclude_episodes"] == "[2,3,7]"


def test_episodes_that_the_manifest_leaves_out_are_unknown():
    [lists] = episode_lists([clip("p", 1, total=4)], verdict_of)
    assert lists["keep"] == [1]
    assert lists["unknown"] == [0, 2, 3]
    assert lists["exclude_episodes"] == "[0,2,3]"


def test_an_episode_of_several_clips_is_as_good_as_the_worst():
    clips = [clip("p0", 0), clip("r0", 0), clip("p1", 1), clip("u1", 1), clip("p2", 2)]
    [lists] = episode_lists(clips, verdict_of)
    assert (lists["keep"], lists["reject"], lists["unverified"]) == ([2], [0], [1])


def test_several_data_sets_are_told_apart(tmp_path):
    clips = [clip("p", 0), make_clip("plain"), clip("r", 0, dataset="s3://hub/other")]
    write_keep(clips, verdict_of, tmp_path)
    first, second = json.loads((tmp_path / "keep.json").read_text())["datasets"]
    assert (first["dataset"], first["keep"]) == ("/data/pusht", [0])
    assert (second["dataset"], second["reject"]) == ("s3://hub/other", [0])


def test_clips_of_no_data_set_leave_no_old_lists_behind(tmp_path):
    write_keep([clip("p", 0)], verdict_of, tmp_path)
    write_keep([make_clip("p")], verdict_of, tmp_path)
    assert not (tmp_path / "keep.json").exists()


def test_validate_judge_and_merge_write_the_same_lists(tmp_path):
    clips = [clip(name, k, total=4) for k, name in enumerate(("ok", "reject", "silent"))]
    options = {"audit": audit, "workers": 0, "to_row": clip_to_row}
    run_batch(clips, POLICY, out=tmp_path / "whole", **options)
    for number in (1, 2):
        run_batch(
            clips[number - 1 :: 2],
            POLICY,
            out=tmp_path / f"part{number}",
            about={"shard": {"number": number, "count": 2}},
            **options,
        )
    shards = []
    for number in (1, 2):
        folder = tmp_path / f"part{number}"
        rows = {
            row.clip_id: row
            for name in ("passed", "rejected", "unverified")
            if (folder / f"{name}.jsonl").stat().st_size
            for row in load_manifest(str(folder / f"{name}.jsonl"))
        }
        file = VerdictFile(folder / "verdicts.jsonl")
        shards.append(read_shard(folder, [rows[name] for name in file.clip_ids]))
    merge_shards(shards, out=tmp_path / "merged", to_row=clip_to_row)
    file = VerdictFile(tmp_path / "whole" / "verdicts.jsonl")
    judge_again(clips, file, POLICY, out=tmp_path / "judged", to_row=clip_to_row)
    texts = {(tmp_path / name / "keep.json").read_text() for name in ("whole", "merged")}
    assert len(texts) == 1
    lists = json.loads(texts.pop())
    assert lists["keep"] == [0]
    assert lists["exclude_episodes"] == "[1,2,3]"
    judged = json.loads((tmp_path / "judged" / "keep.json").read_text())
    assert judged.keys() == lists.keys()
    assert judged["unknown"] == [3]


def test_where_a_clip_comes_from_asks_for_no_new_audit():
    assert fingerprint_of(clip("a", 0), POLICY) == fingerprint_of(make_clip("a"), POLICY)
