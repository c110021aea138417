"""Put images that lie inside other files into files of their own, bit by bit."""
