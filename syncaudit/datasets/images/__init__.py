"""Extract images from other files into files of their own, losslessly."""
