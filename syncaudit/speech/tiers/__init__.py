"""Files of words and phones with times: how they are parsed and written."""
