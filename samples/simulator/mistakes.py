"""Training loops with one mistake each, and the same loop without it; `healthy` is the only difference between the two."""

from .allocator import MIB
from .stacks import CALL, LINEAR, PROJECT, STEP
from .transformer import FLOAT, HALF, VOCABULARY, Shape, Training
from .world import Flavour, Recording, World, settings, snapshot

_KEEP_OUTPUT = ((PROJECT + "main.py", "train_step", 97),) + STEP[1:]
_NOTE_HIDDEN = ((PROJECT + "serve/history.py", "note", 22), (PROJECT + "serve/encoder.py", "encode", 51)) + STEP[1:]
_PROBE = ((PROJECT + "model/probe.py", "keep_hidden", 27), (PROJECT + "model/block.py", "forward", 37)) + CALL + STEP


def _record(seed, play):
    recording = Recording(Flavour(), 1)
    world = World(seed, recording)
    play(world)
    return snapshot(world, recording, settings())


class _NeverZeroed(Training):
    """The line optimizer.zero_grad() is missing, so backward adds to the gradients that are there."""

    def zero_grad(self):
        pass


def _zero_grad(seed, healthy):
    def play(world):
        training = (Training if healthy else _NeverZeroed)(world, Shape(layers=2, width=512, batch=4, tokens=512))
        for number in range(4):
            training.step(number)
    return _record(seed, play)


class _Held(Training):
    """`outputs = model(batch)`: the name still holds the last step's logits while the next step runs."""

    healthy = False
    outputs = None  # outputs of the step before
    logits = None

    def _loss(self, rows):
        world, stacks = self.world, self.world.stacks
        self.logits = world.malloc(HALF * rows * VOCABULARY, stacks.alloc("linear", LINEAR + self._places((), 9, STEP)))
        places = ((PROJECT + "model/loss.py", "token_loss", 19),) + STEP
        chances = world.malloc(FLOAT * rows * VOCABULARY, stacks.alloc("log_softmax", places))
        return chances, world.malloc(FLOAT, stacks.alloc("nll_loss", places))

    def step(self, number, clip=False):
        super().step(number, clip)
        dropped = self.logits if self.healthy else self.outputs
        if dropped:
            self.world.free(dropped, self.world.stacks.free(_KEEP_OUTPUT))
        self.outputs = self.logits


def _held_over(seed, healthy):
    def play(world):
        training = _Held(world, Shape(layers=2, width=512, batch=4, tokens=512))
        training.healthy = healthy
        for number in range(4):
            training.step(number)
    return _record(seed, play)


def _forward_only(seed, healthy):
    """Encodes six batches; a list keeps a hidden state of each on the GPU instead of copying it to the CPU."""
    def play(world):
        model = Training(world, Shape(layers=3, width=512, batch=8, tokens=512))
        stack, free = world.stacks.alloc("clone", _NOTE_HIDDEN), world.stacks.free(_NOTE_HIDDEN)
        for _ in range(6):
            model.evaluate()
            hidden = world.malloc(8 * MIB + 512, stack)
            if healthy:  # copied to the CPU
                world.free(hidden, free)
    return _record(seed, play)


class _Probed(Training):
    """A forward hook keeps one hidden state of each layer."""

    healthy = False

    def after_layer(self, layer, saved):
        shape = self.shape
        hidden = self.world.malloc(HALF * shape.batch * shape.tokens * shape.width,
                                   self.world.stacks.alloc("clone", _PROBE))
        self.retained.append(hidden)

    def backward(self, head):
        if self.healthy:
            for block in self.retained:
                self.world.free(block, self.world.stacks.free(_PROBE))
        super().backward(head)


def _per_layer(seed, healthy):
    def play(world):
        training = _Probed(world, Shape(layers=8, width=768, batch=8, tokens=512))
        training.healthy = healthy
        training.step(0)
    return _record(seed, play)


def _twin(play, healthy, name):
    def story(seed):
        return play(seed, healthy)
    story.__name__ = name + ("_healthy" if healthy else "")
    return story


MISTAKES = tuple(_twin(play, healthy, name) for name, play in (
    ("leak_zero_grad", _zero_grad), ("held_over", _held_over), ("leak_forward_only", _forward_only),
    ("kept_per_layer", _per_layer)) for healthy in (False, True))
