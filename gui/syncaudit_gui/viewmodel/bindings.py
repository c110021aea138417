"""Key bindings: one table for the window, its key sheet and the documentation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial


class Action(StrEnum):
    """All actions that keys can trigger."""

    PLAY = "play"
    FRAME_BACK = "frame_back"
    FRAME_ON = "frame_on"
    TEN_BACK = "ten_back"
    TEN_ON = "ten_on"
    SLOWER = "slower"
    FASTER = "faster"
    NEXT_EVENT = "next_event"
    PREVIOUS_EVENT = "previous_event"
    NEXT_FLASH = "next_flash"
    NEXT_TURN = "next_turn"
    NEXT_BUMP = "next_bump"
    NEXT_BRAKE = "next_brake"
    NEXT_ONSET = "next_onset"
    NEXT_FAULT = "next_fault"
    NEXT_STEP = "next_step"
    LOOP = "loop"
    SOURCE_UP = "source_up"
    SOURCE_DOWN = "source_down"
    EARLIER = "earlier"
    LATER = "later"
    EARLIER_10 = "earlier_10"
    LATER_10 = "later_10"
    EARLIER_FRAME = "earlier_frame"
    LATER_FRAME = "later_frame"
    CORRECTED = "corrected"
    MEASURE = "measure"
    ZOOM_IN = "zoom_in"
    ZOOM_OUT = "zoom_out"
    ZOOM_ALL = "zoom_all"
    ENLARGE = "enlarge"
    GRID = "grid"
    SPECTROGRAM = "spectrogram"
    EVENTS = "events"
    ACCEPT = "accept"
    REJECT = "reject"
    UNSURE = "unsure"
    NOTE = "note"
    BLIND = "blind"
    NEXT_CLIP = "next_clip"
    PREVIOUS_CLIP = "previous_clip"
    UNDO = "undo"
    REDO = "redo"
    SNAPSHOT = "snapshot"
    THEME = "theme"
    SHEET = "sheet"
    ESCAPE = "escape"
    QUIT = "quit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Keys that belong together on the key sheet."""

    group: str  # text for people
    keys: str
    text: str
    actions: dict[str, Action]  # by key in Qt's portable notation (``Shift+Right``)
    is_repeated: bool = False  # while a key is held


def _b(group: str, keys: str, text: str, *, is_repeated: bool = False, **actions: str) -> Binding:
    by_key = {key: Action(name) for name, spelled in actions.items() for key in spelled.split()}
    return Binding(group=group, keys=keys, text=text, actions=by_key, is_repeated=is_repeated)


_held = partial(_b, is_repeated=True)


BINDINGS: tuple[Binding, ...] = (
    _b("Time", "Space", "play, pause", play="Space"),
    _held("Time", "← →", "one frame of the selected camera", frame_back="Left", frame_on="Right"),
    _held("Time", "Shift+← →", "ten frames", ten_back="Shift+Left", ten_on="Shift+Right"),
    _b("Time", "J L", "slower, faster", slower="J", faster="L"),
    _held("Time", "N P", "next, previous event", next_event="N", previous_event="P"),
    _b(
        "Time",
        "1 2 3",
        "next ● flash, ◆ turn, ■ bump",
        next_flash="1",
        next_turn="2",
        next_bump="3",
    ),
    _b(
        "Time",
        "4 5 6 7",
        "▲ brake, ▼ onset, ▧ fault, ⇥ step",
        next_brake="4",
        next_onset="5",
        next_fault="6",
        next_step="7",
    ),
    _b("Time", "E", "loop ±0.5 s, or between the marks", loop="E"),
    _b("Time", "M", "measuring mark: first, second, none", measure="M"),
    _held("View", "+ − 0", "zoom in, out, whole clip", zoom_in="+ =", zoom_out="-", zoom_all="0"),
    _b("View", "Enter", "enlarge the selected camera", enlarge="Return Enter"),
    _b("View", "G", "cameras as a grid", grid="G"),
    _b("View", "S", "spectrogram beneath the waveform", spectrogram="S"),
    _b("View", "V", "list of events", events="V"),
    _b("View", "T", "dark, light", theme="T"),
    _held("Clocks", "↑ ↓", "select a source", source_up="Up", source_down="Down"),
    _b("Clocks", "C", "raw, corrected; hold for a glance", corrected="C"),
    _held("Clocks", ", .", "nudge the source by 1 ms", earlier=",", later="."),
    _held("Clocks", "Shift+, .", "by 10 ms", earlier_10="Shift+,", later_10="Shift+."),
    _held("Clocks", "Ctrl+, .", "by one frame", earlier_frame="Ctrl+,", later_frame="Ctrl+."),
    _held("Clocks", "Ctrl+Z", "undo (Ctrl+Shift+Z redo)", undo="Ctrl+Z", redo="Ctrl+Shift+Z"),
    _held("Clips", "PgUp PgDn", "previous, next clip", previous_clip="PgUp", next_clip="PgDown"),
    _b("Clips", "A R U", "accept, reject, unsure", accept="A", reject="R", unsure="U"),
    _b("Clips", "I", "write a note", note="I"),
    _b("Clips", "B", "blind: verdict hidden until labelled", blind="B"),
    _b("Mouse", "drag", "move the cursor"),
    _b("Mouse", "Shift+drag", "pan; also the wheel with Shift"),
    _b("Mouse", "Alt+drag", "nudge the source of that lane"),
    _b("Mouse", "wheel", "zoom there; with Ctrl: scroll"),
    _b("Mouse", "double click", "enlarge a camera"),
    _b("Window", "Ctrl+E", "save a snapshot", snapshot="Ctrl+E"),
    _b("Window", "?", "this list", sheet="?"),
    _b("Window", "Esc", "close, cancel", escape="Esc"),
    _b("Window", "Ctrl+Q", "quit", quit="Ctrl+Q"),
)

REPEATED = {action for row in BINDINGS if row.is_repeated for action in row.actions.values()}
"""Actions that are done again and again while their key is held."""
_ACTIONS = {key: action for binding in BINDINGS for key, action in binding.actions.items()}

# Shifted keys on common layouts: the character that arrives, and the key that was meant.
_SHIFTED = {"<": "Shift+,", ";": "Shift+,", ">": "Shift+.", ":": "Shift+."}


def action_of(key: str) -> Action | None:
    """Return the action of a key, None if it has none.

    The key is in Qt's portable notation, with the character typed: ``Shift+>``, ``Shift++``.
    """
    found = _ACTIONS.get(key)
    if found is not None:
        return found
    bare = key.removeprefix("Shift+")
    if bare in _SHIFTED:
        return _ACTIONS[_SHIFTED[bare]]
    # Characters typed with Shift: ``?`` arrives as ``Shift+?`` on most layouts.
    return _ACTIONS.get(bare) if len(bare) == 1 and not bare.isalnum() else None
