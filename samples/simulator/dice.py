"""Random numbers that are the same in every version of Python."""


class Dice:
    """A 64-bit linear congruential generator; the high bits are used."""

    def __init__(self, seed):
        self._state = (seed * 0x9E3779B97F4A7C15 + 0x1234567) & 0xFFFFFFFFFFFFFFFF
        for _ in range(4):
            self.below(2)

    def below(self, limit):
        """A number in [0, limit), limit at most 2^31."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        return ((self._state >> 33) * limit) >> 31

    def between(self, low, high):
        """A number in [low, high]."""
        return low + self.below(high - low + 1)

    def choice(self, items):
        return items[self.below(len(items))]
