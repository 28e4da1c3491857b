"""A transformer's training loop as the allocator sees it: what is allocated, by which line, and when it is freed."""

from .stacks import CALL, LINEAR, MAIN, PROJECT, STEP, TORCH

FLOAT, HALF = 4, 2
VOCABULARY = 50257  # GPT-2's; not a multiple of 512, so sizes are rounded up

_ATTENTION = PROJECT + "model/attention.py"
_FEED_FORWARD = PROJECT + "model/feed_forward.py"
_BLOCK = PROJECT + "model/block.py"
_TRANSFORMER = PROJECT + "model/transformer.py"
_NORM = ((TORCH + "nn/modules/normalization.py", "forward", 229),) + CALL
_DROPOUT = ((TORCH + "nn/functional.py", "dropout", 1425),)
_OPTIMIZER = ((TORCH + "optim/adamw.py", "_multi_tensor_adam", 702), (TORCH + "optim/adamw.py", "adamw", 949),
              (TORCH + "optim/adamw.py", "step", 220), (TORCH + "optim/optimizer.py", "wrapper", 533)) + STEP
_OPTIMIZER_INIT = ((TORCH + "optim/adamw.py", "_init_group", 176), (TORCH + "optim/adamw.py", "step", 213),
                   (TORCH + "optim/optimizer.py", "wrapper", 533)) + STEP
_ZERO_GRAD = ((TORCH + "optim/optimizer.py", "zero_grad", 1021), (PROJECT + "main.py", "train_step", 94)) + MAIN
_LOAD_MODEL = ((TORCH + "nn/modules/module.py", "convert", 1355),) + tuple(
    (TORCH + "nn/modules/module.py", "_apply", line) for line in (942, 915, 915, 915)
) + ((TORCH + "nn/modules/module.py", "to", 1369), (PROJECT + "main.py", "build_model", 47)) + MAIN
_BATCH = ((PROJECT + "data.py", "next_batch", 63),) + STEP
_LOSS = ((TORCH + "nn/functional.py", "cross_entropy", 3462), (PROJECT + "model/loss.py", "token_loss", 19))
_EVALUATE = ((PROJECT + "main.py", "evaluate", 112),) + MAIN
_CLIP = ((TORCH + "nn/utils/clip_grad.py", "clip_grad_norm_", 215), (PROJECT + "main.py", "train_step", 91)) + MAIN


class Shape:
    """Sizes of model and batch."""

    def __init__(self, layers=4, width=1024, heads=16, batch=8, tokens=1024):
        self.layers, self.width, self.heads, self.batch, self.tokens = layers, width, heads, batch, tokens


def parameters(width):
    """(name, elements) of one layer."""
    return (("ln1.weight", width), ("ln1.bias", width), ("qkv.weight", 3 * width * width), ("qkv.bias", 3 * width),
            ("proj.weight", width * width), ("proj.bias", width), ("ln2.weight", width), ("ln2.bias", width),
            ("fc1.weight", 4 * width * width), ("fc1.bias", 4 * width), ("fc2.weight", 4 * width * width),
            ("fc2.bias", width))


def _attention(line):
    return ((_ATTENTION, "forward", line),) + CALL + ((_BLOCK, "forward", 31),) + CALL


def _feed_forward(line):
    return ((_FEED_FORWARD, "forward", line),) + CALL + ((_BLOCK, "forward", 34),) + CALL


def _block(line):
    return ((_BLOCK, "forward", line),) + CALL


# One layer's forward pass: (name, operator, places inside of the layer, bytes, kept for the backward pass).
# `rows` stands for batch * tokens, `square` for the attention matrix.
_FORWARD = (
    ("ln1", "layer_norm", _NORM + _block(31), lambda s, rows, square: HALF * rows * s.width, True),
    ("ln1.mean", "layer_norm", _NORM + _block(31), lambda s, rows, square: FLOAT * rows, True),
    ("ln1.rstd", "layer_norm", _NORM + _block(31), lambda s, rows, square: FLOAT * rows, True),
    ("qkv", "linear", LINEAR + _attention(42), lambda s, rows, square: HALF * rows * 3 * s.width, True),
    ("scores", "matmul", _attention(51), lambda s, rows, square: HALF * square, False),
    ("weights", "softmax", _attention(53), lambda s, rows, square: HALF * square, True),
    ("mask", "dropout", _DROPOUT + _attention(54), lambda s, rows, square: square, True),
    ("mixed", "matmul", _attention(56), lambda s, rows, square: HALF * rows * s.width, True),
    ("projected", "linear", LINEAR + _attention(58), lambda s, rows, square: HALF * rows * s.width, False),
    ("sum1", "add", _block(31), lambda s, rows, square: HALF * rows * s.width, True),
    ("ln2", "layer_norm", _NORM + _block(34), lambda s, rows, square: HALF * rows * s.width, True),
    ("ln2.mean", "layer_norm", _NORM + _block(34), lambda s, rows, square: FLOAT * rows, True),
    ("ln2.rstd", "layer_norm", _NORM + _block(34), lambda s, rows, square: FLOAT * rows, True),
    ("fc1", "linear", LINEAR + _feed_forward(22), lambda s, rows, square: HALF * rows * 4 * s.width, True),
    ("gelu", "gelu", _feed_forward(23), lambda s, rows, square: HALF * rows * 4 * s.width, True),
    ("fc2", "linear", LINEAR + _feed_forward(24), lambda s, rows, square: HALF * rows * s.width, False),
    ("sum2", "add", _block(34), lambda s, rows, square: HALF * rows * s.width, True),
)

# Its backward pass: (autograd node, operator, bytes of the gradient, parameters, what it needs from the forward pass).
_BACKWARD = (
    ("AddmmBackward0", "linear", lambda s, rows, square: HALF * rows * 4 * s.width, ("fc2.weight", "fc2.bias"),
     ("gelu",)),
    ("GeluBackward0", "gelu", lambda s, rows, square: HALF * rows * 4 * s.width, (), ("fc1",)),
    ("AddmmBackward0", "linear", lambda s, rows, square: HALF * rows * s.width, ("fc1.weight", "fc1.bias"), ("ln2",)),
    ("NativeLayerNormBackward0", "layer_norm", lambda s, rows, square: HALF * rows * s.width,
     ("ln2.weight", "ln2.bias"), ("sum1", "ln2.mean", "ln2.rstd")),
    ("AddmmBackward0", "linear", lambda s, rows, square: HALF * rows * s.width, ("proj.weight", "proj.bias"),
     ("mixed",)),
    ("BmmBackward0", "matmul", lambda s, rows, square: HALF * square, (), ("mask",)),
    ("SoftmaxBackward0", "softmax", lambda s, rows, square: HALF * square, (), ("weights",)),
    ("BmmBackward0", "matmul", lambda s, rows, square: HALF * rows * 3 * s.width, (), ("qkv",)),
    ("AddmmBackward0", "linear", lambda s, rows, square: HALF * rows * s.width, ("qkv.weight", "qkv.bias"), ("ln1",)),
    ("NativeLayerNormBackward0", "layer_norm", lambda s, rows, square: HALF * rows * s.width,
     ("ln1.weight", "ln1.bias"), ("ln1.mean", "ln1.rstd")),
)


class _Row:
    """One line of a table with its stacks and bytes, which are looked up once."""

    __slots__ = ("name", "nbytes", "kept", "stack", "free_stack", "parameters", "saved")

    def __init__(self, name, nbytes, kept, stack, free_stack, parameters=(), saved=()):
        self.name, self.nbytes, self.kept, self.stack, self.free_stack = name, nbytes, kept, stack, free_stack
        self.parameters, self.saved = parameters, saved


class Training:
    """Model, optimizer and the state between steps. The hooks below are what subclasses and stories may change."""

    def __init__(self, world, shape, unrolled=False, device_of_layer=None, retain_graph=False):
        self.world, self.shape, self.unrolled = world, shape, unrolled
        self.device_of_layer = device_of_layer or (lambda layer: 0)
        self.retain_graph = retain_graph
        self.last_device = self.device_of_layer(shape.layers - 1)
        self.parameters = {}  # (layer, name) -> block
        self.gradients = {}
        self.state = {}
        self.saved = []  # per layer: name -> block
        self.retained = []  # what a leak keeps
        self.batch = ()
        self._rows = {}
        self._load()

    # ---- hooks ----

    def after_layer(self, layer, saved):
        """Called in the forward pass when a layer is done."""

    def when_gradient_is_ready(self, block):
        """Called in the backward pass for every gradient of a parameter."""

    def take_batch(self):
        """Blocks of the next batch: token ids and labels."""
        stack = self.world.stacks.alloc("to", _BATCH)
        nbytes = 8 * self.shape.batch * self.shape.tokens
        return tuple(self.world.malloc(nbytes, stack) for _ in range(2))

    # ---- one step ----

    def step(self, number, clip=False):
        world = self.world
        with world.scope(f"ProfilerStep#{number}"):
            self._next_batch()
            with world.scope("forward"):
                gradient = self.forward()
            with world.scope("backward"):
                self.backward(gradient)
            if clip:
                self._clip()
            with world.scope("Optimizer.step#AdamW.step"):
                self.optimize()
            with world.scope("Optimizer.zero_grad#AdamW.zero_grad"):
                self.zero_grad()

    def _next_batch(self):
        before, self.batch = self.batch, self.take_batch()
        stack = self.world.stacks.free(_BATCH)
        for block in before:
            self.world.free(block, stack)

    def forward(self):
        """Returns the loss and what the backward pass of the head needs."""
        world, stacks, shape = self.world, self.world.stacks, self.shape
        rows = shape.batch * shape.tokens
        self.saved = []
        embedded = world.malloc(HALF * rows * shape.width, stacks.alloc("embedding", self._places(
            ((TORCH + "nn/modules/sparse.py", "forward", 192),) + CALL, 0, STEP)), device=self.device_of_layer(0))
        for layer in range(shape.layers):
            kept, loose = {}, None
            device = self.device_of_layer(layer)
            for row in self.rows("forward", layer):
                block = world.malloc(row.nbytes, row.stack, device=device)
                if loose:
                    world.free(loose, row.free_stack)
                    loose = None
                if row.kept:
                    kept[row.name] = block
                else:
                    loose = block
            if layer == 0:
                kept["embedded"] = embedded
            self.saved.append(kept)
            self.after_layer(layer, kept)
        return self._loss(rows)

    def _loss(self, rows):
        world, stacks, device = self.world, self.world.stacks, self.last_device
        logits = world.malloc(HALF * rows * VOCABULARY, stacks.alloc("linear", LINEAR + self._places((), 9, STEP)),
                              device=device)
        chances = world.malloc(FLOAT * rows * VOCABULARY, stacks.alloc("log_softmax", _LOSS + STEP), device=device)
        loss = world.malloc(FLOAT, stacks.alloc("nll_loss", _LOSS + STEP), device=device)
        world.free(logits, stacks.free(_LOSS + STEP))
        return chances, loss

    def backward(self, head):
        world, stacks, shape, device = self.world, self.world.stacks, self.shape, self.last_device
        chances, loss = head
        rows = shape.batch * shape.tokens
        spread = world.malloc(FLOAT * rows * VOCABULARY, stacks.backward("LogSoftmaxBackward0", "log_softmax"),
                              device=device)
        self._done_with((chances,), stacks.release("LogSoftmaxBackward0"))
        gradient = world.malloc(HALF * rows * shape.width, stacks.backward("AddmmBackward0", "linear"), device=device)
        self._parameter_gradient("head", "weight", VOCABULARY * shape.width,
                                 stacks.backward("AddmmBackward0", "linear"), device)
        world.free(spread, stacks.release("AddmmBackward0"))
        for layer in reversed(range(shape.layers)):
            gradient = self._backward_layer(layer, gradient)
        self._parameter_gradient("embedding", "weight", VOCABULARY * shape.width,
                                 stacks.backward("EmbeddingBackward0", "embedding"), self.device_of_layer(0))
        world.free(gradient, stacks.release("EmbeddingBackward0"))
        self._done_with((loss,), stacks.free(STEP))

    def _backward_layer(self, layer, gradient):
        world, saved, device = self.world, self.saved[layer], self.device_of_layer(layer)
        for row in self.rows("backward", layer):
            block = world.malloc(row.nbytes, row.stack, device=device)
            for name, elements in row.parameters:
                self._parameter_gradient(layer, name, elements, row.stack, device)
            world.free(gradient, row.free_stack)
            gradient = block
            self._done_with([saved.pop(name) for name in row.saved], row.free_stack)
        self._done_with([saved.pop(name) for name in sorted(saved)], row.free_stack)
        return gradient

    def _done_with(self, blocks, stack):
        """Frees what the backward pass has used, unless retain_graph=True keeps it."""
        if self.retain_graph:
            self.retained.extend(blocks)
            return
        for block in blocks:
            self.world.free(block, stack)

    def _parameter_gradient(self, layer, name, elements, stack, device):
        block = self.world.malloc(FLOAT * elements, stack, device=device)
        self.when_gradient_is_ready(block)
        if (layer, name) in self.gradients:  # added to the gradient that is there
            self.world.free(block, self.world.stacks.release("AccumulateGrad"))
        else:
            self.gradients[layer, name] = block

    def _clip(self):
        stacks = self.world.stacks
        norms = [self.world.malloc(FLOAT, stacks.alloc("foreach_norm", _CLIP), device=block.pool.owner.device)
                 for block in self.gradients.values()]
        for block in norms:
            self.world.free(block, stacks.free(_CLIP))

    def optimize(self):
        """AdamW with foreach: two moments per parameter from the first step on, and in each step a temporary per parameter."""
        world, stacks = self.world, self.world.stacks
        if not self.state:
            zeros = stacks.alloc("zeros_like", _OPTIMIZER_INIT)
            for key, block in self.parameters.items():
                self.state[key] = [world.malloc(block.requested, zeros, device=block.pool.owner.device)
                                   for _ in range(2)]
        temporary, free = stacks.alloc("foreach_sqrt", _OPTIMIZER), stacks.free(_OPTIMIZER)
        roots = [world.malloc(block.requested, temporary, device=block.pool.owner.device)
                 for block in self.parameters.values()]
        for block in roots:
            world.free(block, free)

    def zero_grad(self):
        stack = self.world.stacks.free(_ZERO_GRAD)
        for block in self.gradients.values():
            self.world.free(block, stack)
        self.gradients = {}

    def evaluate(self):
        """A forward pass without gradients: everything is freed as soon as the next operator has used it."""
        world, before = self.world, None
        for layer in range(self.shape.layers):
            for row in self.rows("evaluate", layer):
                block = world.malloc(row.nbytes, row.stack, device=self.device_of_layer(layer))
                if before:
                    world.free(before, row.free_stack)
                before = block
        world.free(before, world.stacks.free(_EVALUATE))

    # ---- tables with stacks ----

    def resize(self, **sizes):
        """Changes batch size or sequence length from now on."""
        for name, value in sizes.items():
            setattr(self.shape, name, value)
        self._rows = {}

    def rows(self, phase, layer):
        found = self._rows.get((phase, layer))
        if found is None:
            make = self._backward_rows if phase == "backward" else self._forward_rows
            found = self._rows[phase, layer] = make(layer, _EVALUATE if phase == "evaluate" else STEP)
        return found

    def _forward_rows(self, layer, outside):
        stacks, sizes = self.world.stacks, self._sizes()
        rows = []
        for name, operator, inside, nbytes, kept in _FORWARD:
            places = self._places(inside, layer, outside)
            rows.append(_Row(name, nbytes(*sizes), kept, stacks.alloc(operator, places), stacks.free(places)))
        return rows

    def _backward_rows(self, layer, outside):
        stacks, sizes = self.world.stacks, self._sizes()
        elements = dict(parameters(self.shape.width))
        return [_Row(node, nbytes(*sizes), False, stacks.backward(node, operator), stacks.release(node),
                     [(name, elements[name]) for name in names], saved)
                for node, operator, nbytes, names, saved in _BACKWARD]

    def _sizes(self):
        s = self.shape
        return s, s.batch * s.tokens, s.batch * s.heads * s.tokens * s.tokens

    def _places(self, inside, layer, outside):
        """Python places of a call, innermost first. An unrolled model calls every layer from a line of its own."""
        line = 60 + layer if self.unrolled else 57
        return inside + ((_TRANSFORMER, "forward", line),) + CALL + outside

    def _load(self):
        stack, shape = self.world.stacks.alloc("to", _LOAD_MODEL), self.shape
        names = [(layer, name, elements) for layer in range(shape.layers)
                 for name, elements in parameters(shape.width)]
        names = [("embedding", "weight", VOCABULARY * shape.width), *names, ("head", "weight", VOCABULARY * shape.width)]
        devices = {"embedding": self.device_of_layer(0), "head": self.last_device}
        for layer, name, elements in names:
            device = devices[layer] if layer in devices else self.device_of_layer(layer)
            self.parameters[layer, name] = self.world.malloc(FLOAT * elements, stack, device=device)
