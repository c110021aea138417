"""Recordings in MCAP files and ROS bags, read without ROS."""
