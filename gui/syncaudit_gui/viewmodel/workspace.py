"""The state of the window, shared by all of its parts."""

from __future__ import annotations

from typing import NamedTuple

from syncaudit_gui.viewmodel.clip_model import ClipModel
from syncaudit_gui.viewmodel.session import Session
from syncaudit_gui.viewmodel.timeline import Timeline

__all__ = ["OpenClip", "Workspace"]


class OpenClip(NamedTuple):
    """A clip that was read, and the visible part of it."""

    session: Session
    model: ClipModel
    timeline: Timeline


class Workspace:
    """Holds the session; there is none until a collection is opened."""

    def __init__(self) -> None:
        self.session: Session | None = None

    @property
    def opened(self) -> OpenClip | None:
        """The open clip; None if there is none."""
        session = self.session
        if session is None or session.model is None or session.timeline is None:
            return None
        return OpenClip(session, session.model, session.timeline)

    @property
    def timeline(self) -> Timeline | None:
        """Cursor and range of the open clip."""
        return None if self.session is None else self.session.timeline

    @property
    def clip_id(self) -> str:
        """Clip that is open; empty if there is none."""
        return "" if self.session is None else self.session.clip_id
