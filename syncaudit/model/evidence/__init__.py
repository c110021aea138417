"""What happened and when: dense activity, increments from frame to frame and event trains."""
