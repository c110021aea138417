USAGE: dict = {}
