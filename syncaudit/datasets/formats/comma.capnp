# What is read of the logs of openpilot, as they lie in a file.
#
# Cap'n Proto finds a field by its number and the types of those before it, so that names are free
# and `unread...` only keep the place. The body of an event is one pointer, whatever it is, and its
# kind a number beside it: here they are two fields, and kinds that are not read need no place.

@0xd4a3b7c61f5e9208;

struct Event {
  logMonoTime @0 :UInt64;
  kind @1 :UInt16;
  body @2 :AnyPointer;
}

struct InitData {
  unread0 @0 :List(Text);
  unread1 @1 :Text;
  dongleId @2 :Text;
  deviceType @3 :UInt16;
  version @4 :Text;
}

struct FrameData {
  frameId @0 :UInt32;
  unread1 @1 :UInt32;
  timestampEof @2 :UInt64;
  unread3 @3 :Int32;
  unread4 @4 :Int32;
  unread5 @5 :Int32;
  unread6 @6 :Data;
  unread7 @7 :UInt16;
  timestampSof @8 :UInt64;
  unread9 @9 :AnyPointer;
  unread10 @10 :List(Float32);
  unread11 @11 :Int32;
  unread12 @12 :Float32;
  unread13 @13 :Float32;
  unread14 @14 :Float32;
  unread15 @15 :Float32;
  unread16 @16 :List(Int16);
  unread17 @17 :List(UInt8);
  unread18 @18 :List(UInt16);
  unread19 @19 :Int32;
  unread20 @20 :Bool;
  unread21 @21 :Float32;
  unread22 @22 :Float32;
  unread23 @23 :Float32;
  unread24 @24 :List(Float32);
  unread25 @25 :UInt32;
  sensor @26 :UInt16;
}

struct EncodeIndex {
  frameId @0 :UInt32;
  unread1 @1 :UInt16;
  unread2 @2 :UInt32;
  segmentNum @3 :Int32;
  segmentId @4 :UInt32;
  unread5 @5 :UInt32;
  timestampSof @6 :UInt64;
  timestampEof @7 :UInt64;
}

struct CanData {
  address @0 :UInt32;
  unread1 @1 :UInt16;
  dat @2 :Data;
  src @3 :UInt8;
}

struct SensorEventData {
  unread0 @0 :Int32;
  unread1 @1 :Int32;
  unread2 @2 :Int32;
  timestamp @3 :Int64;
  kind @4 :UInt16;
  vector @5 :SensorVec;
  source @6 :UInt16;
}

struct SensorVec {
  v @0 :List(Float32);
}

struct CarState {
  unread0 @0 :AnyPointer;
  vEgo @1 :Float32;
  unread2 @2 :AnyPointer;
  unread3 @3 :Float32;
  unread4 @4 :Bool;
  brake @5 :Float32;
  unread6 @6 :Bool;
  steeringAngleDeg @7 :Float32;
  unread8 @8 :Float32;
  unread9 @9 :Bool;
  unread10 @10 :AnyPointer;
  unread11 @11 :AnyPointer;
  unread12 @12 :AnyPointer;
  unread13 @13 :AnyPointer;
  unread14 @14 :UInt16;
  unread15 @15 :Float32;
  unread16 @16 :Float32;
  vEgoRaw @17 :Float32;
  unread18 @18 :Bool;
  unread19 @19 :Bool;
  unread20 @20 :Bool;
  unread21 @21 :Bool;
  yawRate @22 :Float32;
}

struct GpsLocationData {
  flags @0 :UInt16;
  unread1 @1 :Float64;
  unread2 @2 :Float64;
  unread3 @3 :Float64;
  speed @4 :Float32;
  unread5 @5 :Float32;
  unread6 @6 :Float32;
  unread7 @7 :Int64;
  unread8 @8 :UInt16;
  unread9 @9 :List(Float32);
  unread10 @10 :Float32;
  unread11 @11 :Float32;
  unread12 @12 :Float32;
  hasFix @13 :Bool;
}
