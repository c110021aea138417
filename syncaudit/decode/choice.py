"""Choose the decoder back end and explain the choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from syncaudit.decode import DECODERS
from syncaudit.decode.frame import FrameDecoder
from syncaudit.errors import UsageError, nearest_name

AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderChoice:
    """Which back end decodes: the one requested, the one chosen, and the reason."""

    asked: str
    took: str
    why: str

    @property
    def settings(self) -> dict[str, object]:
        """Arguments of `syncaudit.pipeline.audit` that verdicts depend on.

        Empty for the CPU, so that its verdicts remain valid whatever was requested. Back ends
        that do not report concealed damage may overlook a damaged file: their verdicts are kept
        apart from those of the CPU, although their frames are the same.
        """
        return {} if self.took == "cpu" else {"decoder": self.took}

    def to_json(self) -> dict[str, object]:
        """Return the entry of ``summary.json``."""
        return {"asked": self.asked, "took": self.took, "why": self.why}


def choose_decoder(
    asked: str,
    *,
    is_here: bool = True,
    decoders: Mapping[str, Callable[[], FrameDecoder]] = DECODERS,
) -> DecoderChoice:
    """Return the back end to decode with.

    ``auto`` selects a back end other than the CPU only if the verdicts are sure to be the same: it
    is available here, decodes the samples identically, and reports damaged frames. If another
    machine decodes (not `is_here`), that machine decides for itself.
    """
    if asked not in (AUTO, *decoders):
        raise UsageError(
            f"decoder is '{asked}', which does not exist",
            hint=nearest_name(asked, [AUTO, *decoders]),
        )
    if asked == "cpu":
        return DecoderChoice(asked=asked, took=asked, why="requested")
    if asked != AUTO:
        why = decoders[asked]().unavailable_reason() if is_here else None
        if why is not None:
            raise UsageError(
                f"decoder '{asked}' cannot be used here: {why}",
                hint="Leave --decoder out, or see 'syncaudit doctor'.",
            )
        return DecoderChoice(asked=asked, took=asked, why="requested")
    passed_over, blind = [], []
    for name, make in decoders.items():
        if name == "cpu":
            continue
        back_end = make()
        if not back_end.tells_damage:
            blind.append(name)
            continue
        why = back_end.unavailable_reason()
        if why is None:
            return DecoderChoice(asked=asked, took=name, why="it decodes samples as the CPU does")
        passed_over.append(f"{name}: {why}")
    if blind:
        passed_over.append(f"{' and '.join(blind)} conceal damage: select one explicitly to use it")
    return DecoderChoice(asked=asked, took="cpu", why="; ".join(passed_over) or "the only one")
