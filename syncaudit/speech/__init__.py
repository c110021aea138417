"""Read, align, measure and write words and phones with times.

>>> from syncaudit import speech
>>> aligned = speech.align("talk.wav", "hello world")  # doctest: +SKIP
>>> aligned.phones[0]  # doctest: +SKIP
Phone(symbol='HH', start_s=0.319, end_s=0.379)
>>> speech.write("talk.TextGrid", aligned.phones, aligned.words)  # doctest: +SKIP
"""

from syncaudit.speech.aligned import AlignedSpeech, align, align_many
from syncaudit.speech.phones import Classes, Phone, classes, measure, read_phones, write

__all__ = [
    "AlignedSpeech",
    "Classes",
    "Phone",
    "align",
    "align_many",
    "classes",
    "measure",
    "read_phones",
    "write",
]
