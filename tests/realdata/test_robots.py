"""Commands and states of a humanoid whose hands lag three times as much as its arms."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from syncaudit.estimators.state.states import measure_states
from syncaudit.model import Activity, Quantity

pytestmark = pytest.mark.realdata

ARMS = slice(0, 14)
# According to the data set's README, the state follows the action by 107 to 118 ms.
LAG_S = 0.1125
LAG_STD_S = 0.006


def both(recordings, episode, channels=slice(None)):
    """Return the commands and states of the robot, in seconds of its own clock."""
    path = recordings.REALDATA / f"lerobot_g1/data/chunk-000/episode_{episode:06d}.parquet"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    table = pq.read_table(path)
    times_s = table["timestamp"].to_numpy().astype(np.float64)
    return [
        Activity(
            source=name,
            quantity=quantity,
            epoch_ns=0,
            times_s=times_s,
            values=np.stack(table[column].to_numpy()).astype(np.float64)[:, channels],
        )
        for name, quantity, column in (
            ("action", Quantity.COMMAND, "action"),
            ("state", Quantity.STATE, "observation.state"),
        )
    ]


@pytest.mark.parametrize("episode", range(4))
def test_arms_and_hands_share_no_delay(recordings, episode):
    told, did = both(recordings, episode)
    there, back = measure_states(told, did), measure_states(did, told)
    assert "channels lag differently: of those of state that follow action" in there.why
    assert there.why == back.why


@pytest.mark.parametrize("episode", range(4))
def test_arms_alone_trail_by_what_is_known_from_either_side(recordings, episode):
    told, did = both(recordings, episode, ARMS)
    there, back = measure_states(told, did), measure_states(did, told)
    assert there.accepted, there.why
    assert back.accepted, back.why
    assert there.offset_s == -back.offset_s
    assert abs(there.offset_s - LAG_S) < 3.0 * np.hypot(there.offset_std_s, LAG_STD_S)
