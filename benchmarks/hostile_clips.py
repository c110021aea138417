CLIPS: dict = {}
