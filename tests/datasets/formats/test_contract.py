"""The contract of every data set format."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from syncaudit.datasets import load_manifest
from syncaudit.datasets.formats import Import, all_formats
from syncaudit.datasets.formats.nested import MOST
from syncaudit.datasets.importing import import_dataset, pick_format
from syncaudit.datasets.protocol import Sidecars
from syncaudit.datasets.source import Source
from syncaudit.errors import ManifestError, SyncAuditError
from syncaudit.readers.uris import local_path, resolve
from testkit.data_sets.examples import EXAMPLES

each_format = pytest.mark.parametrize("name", sorted(EXAMPLES))

# Memory that one more clip may cost while a data set is imported, in blocks of Python's allocator:
# an index of names takes 8, a retained row at least 15. Not traced: in CPython 3.11 tracemalloc
# crashes if it stops while an Arrow thread reads a file (python/cpython#128679).
GROWTH_PER_CLIP = 10


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def uris(spec):
    for key in ("uri", "timestamps", "dbc", "arrivals"):
        value = getattr(spec, key, None)
        if value is not None:
            yield value


def test_every_format_has_an_example():
    assert set(EXAMPLES) == set(all_formats())


@each_format
def test_its_rows_keep_the_contract_and_their_uris_resolve(name, tmp_path):
    source = EXAMPLES[name].write(tmp_path / "data", 3)
    out = tmp_path / "elsewhere" / "set.jsonl"
    done = import_dataset(str(source), out, format_name=name)
    clips = load_manifest(str(out))
    assert done.n_clips == len(clips) == 3
    for clip in clips:
        for spec in clip.sources.values():
            for uri in uris(spec):
                place = resolve(uri, clip.base_uri).split("::")[-1]
                path = local_path(place)
                assert path is not None
                assert path.exists(), f"{uri} of {clip.clip_id}"
                assert not Path(uri.split("::")[-1]).is_absolute()


@each_format
def test_a_parquet_manifest_says_the_same(name, tmp_path):
    source = EXAMPLES[name].write(tmp_path / "data", 3)
    for suffix in ("jsonl", "parquet"):
        import_dataset(str(source), tmp_path / suffix / f"m.{suffix}", format_name=name)
    lines = load_manifest(str(tmp_path / "jsonl" / "m.jsonl"))
    table = load_manifest(str(tmp_path / "parquet" / "m.parquet"))
    assert [clip.sources for clip in lines] == [clip.sources for clip in table]
    assert [clip.origin for clip in lines] == [clip.origin for clip in table]


@each_format
def test_it_leaves_the_source_untouched(name, tmp_path):
    source = EXAMPLES[name].write(tmp_path / "data", 2)
    before = snapshot(tmp_path / "data")
    import_dataset(str(source), tmp_path / "out" / "m.jsonl", format_name=name)
    assert snapshot(tmp_path / "data") == before


@each_format
def test_clip_ids_are_unique_and_the_same_every_time(name, tmp_path):
    source = EXAMPLES[name].write(tmp_path / "data", 4)
    runs = []
    for number in range(2):
        out = tmp_path / f"out{number}" / "m.jsonl"
        import_dataset(str(source), out, format_name=name)
        runs.append([clip.clip_id for clip in load_manifest(str(out))])
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == len(runs[0]) == 4


@each_format
def test_probing_finds_it_and_no_other(name, tmp_path):
    source = Source(str(EXAMPLES[name].write(tmp_path / "data", 2)))
    assert pick_format(source).name == name


@each_format
def test_every_other_format_says_why_it_declines_nothing(name, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    reason = all_formats()[name].probe(Source(str(empty)))
    assert reason
    with pytest.raises(ManifestError, match=f"not a {name} data set"):
        import_dataset(str(empty), tmp_path / "m.jsonl", format_name=name)
    assert not (tmp_path / "m.jsonl").exists()


@each_format
def test_a_limit_stops_it_early(name, tmp_path):
    source = EXAMPLES[name].write(tmp_path / "data", 3)
    out = tmp_path / "out" / "m.jsonl"
    assert import_dataset(str(source), out, format_name=name, limit=1).n_clips == 1
    assert len(load_manifest(str(out))) == 1


@each_format
def test_memory_does_not_grow_with_the_number_of_clips(name, tmp_path):
    source = Source(str(EXAMPLES[name].write(tmp_path / "data", 41)))
    job = Import(sidecars=Sidecars(tmp_path / "side"), notes=Counter())
    clips = all_formats()[name].clips(source, job)
    next(clips)  # imports and caches
    gc.collect()
    gc.freeze()  # so that collecting what the import leaves behind is quick
    held = []
    for number, _ in enumerate(clips, start=1):
        if number % 10 == 0:
            gc.collect()
            held.append(sys.getallocatedblocks())
    gc.unfreeze()
    # Memory that grows with clips does so in every ten; other allocations do not.
    assert len(held) == 4
    assert min(np.diff(held)) < 10 * GROWTH_PER_CLIP


@each_format
def test_nothing_of_later_clips_is_held_at_the_first(name, tmp_path):
    held = {}
    for n_clips in (11, 41):
        source = Source(str(EXAMPLES[name].write(tmp_path / f"data{n_clips}", n_clips)))
        held[n_clips] = [held_at_first(name, source, tmp_path) for _ in range(3)][-1]
    assert held[41] - held[11] < 30 * GROWTH_PER_CLIP


def held_at_first(name: str, source: Source, folder: Path) -> int:
    gc.freeze()  # so that collecting what the import leaves behind is quick
    before = sys.getallocatedblocks()
    clips = all_formats()[name].clips(source, Import(sidecars=Sidecars(folder / "side")))
    next(clips)
    gc.collect()
    gc.unfreeze()
    return sys.getallocatedblocks() - before


@pytest.mark.parametrize(
    ("name", "number"),
    [(name, n) for name, example in sorted(EXAMPLES.items()) for n in range(len(example.broken))],
)
def test_a_broken_source_is_told_with_file_and_cure(name, number, tmp_path):
    source = EXAMPLES[name].write(tmp_path / "data", 2)
    place, content, pattern = EXAMPLES[name].broken[number]
    path = (source if source.is_dir() else source.parent) / place
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(SyncAuditError, match=pattern):
        import_dataset(str(source), tmp_path / "out" / "m.jsonl", format_name=name)
    assert not (tmp_path / "out" / "m.jsonl").exists()


class _Wide(Source):
    """A folder with so many other entries that no probe should examine all of them."""

    def __init__(self, uri):
        super().__init__(uri)
        self.looked_at = Counter()

    def folders(self, folder="", pattern="*"):  # noqa: ARG002  # one signature
        self.looked_at["folders"] += 1
        return [f"{folder}/{k}" if folder else str(k) for k in range(1000)]

    def has(self, name):  # noqa: ARG002
        return False


@each_format
def test_a_probe_looks_into_few_of_many_folders(name, tmp_path):
    source = _Wide(str(tmp_path))
    assert all_formats()[name].probe(source)
    assert source.looked_at["folders"] <= MOST
