"""A CAN log and its description."""

from __future__ import annotations

from collections.abc import Callable

from syncaudit.model import SignalStream

Put = Callable[..., str]
DBC = """VERSION ""
BU_: CAR
BO_ 36 MOTION: 8 CAR
 SG_ YawRate : 1|10@0+ (0.25,-125) [0|250] "deg/s" CAR
 SG_ Speed : 16|16@1+ (0.01,0) [0|250] "km/h" CAR
 SG_ Gear : 32|8@1+ (1,0) [0|0] "" CAR
BO_ 2566844885 WHEELS: 8 CAR
 SG_ Left : 8|16@1+ (0.5,0) [0|0] "m/s" CAR
BO_ 64 OTHER: 8 CAR
 SG_ Twice : 0|8@1+ (1,0) [0|0] "" CAR
BO_ 65 MORE: 8 CAR
 SG_ Twice : 0|8@1+ (1,0) [0|0] "" CAR
VAL_ 36 Gear 0 "park" 1 "drive" ;
"""
Bus = Callable[..., SignalStream]
