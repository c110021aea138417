"""Plots without pyqtgraph's mouse interaction, as the timeline has its own."""

from __future__ import annotations

import pyqtgraph as pg
from pyqtgraph.Qt import QtWidgets

from syncaudit_gui.viewmodel.lanes import Lane
from syncaudit_gui.widgets.lane_axis import LaneAxis, NoAxis
from syncaudit_gui.widgets.theme import Theme

__all__ = ["RIGHT_PX", "adopt_menus", "make_plot"]

RIGHT_PX = 6


def make_plot(lane: Lane, theme: Theme, parent: QtWidgets.QWidget) -> tuple[pg.PlotItem, LaneAxis]:
    """Return a plot for lanes and its axis.

    Parameters
    ----------
    lane : Lane
        The first lane to show.
    theme : Theme
        Colours of the axis.
    parent : QWidget
        Owner of objects of the plot that are in no scene, which end with it.
    """
    axis = LaneAxis(lane, theme)
    axes = {side: NoAxis(side) for side in ("right", "top", "bottom")}
    plot = pg.PlotItem(viewBox=pg.ViewBox(enableMenu=False), axisItems={"left": axis, **axes})
    for side in axes:
        plot.hideAxis(side)  # custom axes are shown by default
    plot.hideButtons()
    plot.setMenuEnabled(False)
    plot.layout.setContentsMargins(0, 0, RIGHT_PX, 0)
    plot.layout.setSpacing(0)
    box = plot.vb
    box.setMouseEnabled(False, False)
    box.setDefaultPadding(0)
    box.disableAutoRange()
    box.setBorder(None)
    adopt_menus(plot, parent)
    return plot, axis


def adopt_menus(plot: pg.PlotItem, parent: QtWidgets.QWidget) -> None:
    """Make a widget the parent of the menu that every pyqtgraph plot has.

    It has no parent otherwise, and PyQt may crash on such objects when Python exits.
    """
    plot.ctrlMenu.setParent(parent, plot.ctrlMenu.windowFlags())
    plot.stateGroup.setParent(parent)
