"""Logs of car loggers, as exported by their applications."""

from __future__ import annotations

RACEBOX = """Record,Time,Latitude,Longitude,Altitude,KPH,X,Y,Z,Lap,GyroX,GyroY,GyroZ
1,0.000,34.48,-80.59,147.8,36,-0.1,0.0,1.0,0,-90,0.5,180
2,0.040,34.48,-80.59,147.8,36,-0.1,0.0,1.0,0,-90,0.4,180
3,0.080,34.48,-80.59,147.8,36,-0.1,0.0,1.0,0,-90,0.3,180
"""
# The application's own preset: dates, and a speed without a unit.
RACEBOX_DATED = """Format,RaceBox CSV
Track,Somewhere

Record,Time,Latitude,Longitude,Altitude,Speed,GForceX,GForceY,GForceZ,Lap,GyroX,GyroY,GyroZ
1,2026-07-10T13:16:19.480Z,42.0,12.0,320.0,10.0,-0.1,0.2,1.0,1,90,0,180
2,2026-07-10T13:16:19.520Z,42.0,12.0,320.0,10.0,-0.1,0.2,1.0,1,90,0,180
"""
RACECHRONO = """This file is created using RaceChrono Pro v9.1.3 ( http://racechrono.com/ ).
Format,3
Session title,"Somewhere, dry"
Created,31/12/2025,02:54
Note,

timestamp,fragment_id,lap_number,elapsed_time,speed,lateral_acc,speed,x_acc,y_acc,z_acc
unix time,,,s,km/h,G,m/s,G,G,G
,,,,100: gps,calc,calc,101: acc,101: acc,101: acc
1767150797.440,0,,0.00,36.0,0.1,10.0,0.0,0.0,1.0
1767150797.450,0,,0.01,36.0,0.1,10.0,,,
1767150797.460,0,1,0.02,36.0,0.1,10.0,0.0,0.0,1.0
"""
AIM = """"Format","AiM CSV File"
"Session","Somewhere"
"Sample Rate","50"

"Time","GPS Speed","InlineAcc","LateralAcc","VerticalAcc","RollRate","PitchRate","YawRate"
"s","mph","g","g","g","deg/s","deg/s","deg/s"

"0.000","22.3694","0","0","1","90","0","180"
"0.020","22.3694","0","0","1","90","0","180"
"""
