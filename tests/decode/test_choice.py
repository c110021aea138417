"""Which back end is chosen, and how that is reported."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from syncaudit.decode import LumaFrames
from syncaudit.decode.choice import choose_decoder
from syncaudit.errors import UsageError
from syncaudit.model import FrameFiles


@dataclass
class Stub:
    name: str = "gpu"
    tells_damage: bool = True
    why: str | None = None

    def probe(self) -> str | None:
        return self.why

    def unavailable_reason(self) -> str | None:
        return self.why

    def open(self, files: FrameFiles) -> LumaFrames:
        raise NotImplementedError


def test_auto_is_the_cpu_as_long_as_no_other_tells_damage() -> None:
    choice = choose_decoder("auto")
    assert (choice.took, choice.settings) == ("cpu", {})
    assert choice.why == "nvdec and torchcodec conceal damage: select one explicitly to use it"
    assert choice.to_json() == {"asked": "auto", "took": "cpu", "why": choice.why}


def test_auto_takes_one_that_gives_the_same_verdicts() -> None:
    decoders = {"cpu": Stub, "gpu": Stub}
    choice = choose_decoder("auto", decoders=decoders)
    assert (choice.took, choice.why) == ("gpu", "it decodes samples as the CPU does")


def test_auto_says_why_it_took_none() -> None:
    decoders = {"cpu": Stub, "a": lambda: Stub(why="no GPU"), "b": lambda: Stub(tells_damage=False)}
    choice = choose_decoder("auto", decoders=decoders)
    assert (choice.took, choice.why) == (
        "cpu",
        "a: no GPU; b conceal damage: select one explicitly to use it",
    )
    assert choose_decoder("auto", decoders={"cpu": Stub}).why == "the only one"


def test_one_that_is_named_must_work_here() -> None:
    decoders = {"cpu": Stub, "gpu": lambda: Stub(why="no driver")}
    with pytest.raises(UsageError, match=r"'gpu' cannot be used here: no driver.*doctor"):
        choose_decoder("gpu", decoders=decoders)
    assert choose_decoder("gpu", decoders=decoders, is_here=False).took == "gpu"
    assert choose_decoder("cpu", decoders=decoders).settings == {}


def test_verdicts_of_one_that_conceals_damage_are_kept_apart() -> None:
    choice = choose_decoder("gpu", decoders={"cpu": Stub, "gpu": Stub})
    assert choice.settings == {"decoder": "gpu"}


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'nvdek'.*Did you mean 'nvdec'"):
        choose_decoder("nvdek")
