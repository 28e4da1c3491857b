"""Records parts of a program by functions: record() for a block, on_oom() for the rest of the run."""

from .recorder import _called, _forget_after_fork, _guarded, _Recorder, _say, _watch


class _OneFile(object):
    """Writes all dumps to one path, each over the one before; "{rank}" and "{why}" in the path are filled in."""

    def __init__(self, path):
        self.path, self.written = path, []

    def claim(self, why):
        called = _called()
        return (str(self.path).replace("rank{rank}", called).replace("{rank}", called.replace("rank", ""))
                .replace("{why}", why))

    def add(self, path):
        self.written = [path]


_functions = None  # the recorder of record() and on_oom()


def _functions_recorder():
    """The recorder of record() and on_oom() in this process. It works beside that of `strata run`."""
    global _functions
    if _functions is None:
        _functions = _Recorder(None)
        _forget_after_fork(_functions)
        _watch(_functions)
    return _functions


class record(object):
    """Records what happens inside of a `with` block, and dumps when memory runs out in it, otherwise at its end.

        with torch_strata.record("step.pickle") as recording:
            train_step(batch)
        recording.path      # where the dump is; None: there is none, and a line on stderr has said why

    "{rank}" in the path becomes the rank, "rank{rank}" of a process without one pid4711, "{why}" the reason ("oom" or "exit"). Recording begins with the block, or with the
    first use of a device in it, and stops after it, unless it was on before. It never raises an exception of its own.
    """

    def __init__(self, path="strata-rank{rank}.pickle", max_entries=1000000, stacks="python"):
        self.files, self.max_entries, self.stacks = _OneFile(path), max_entries, stacks
        self.path = self.recorder = None

    @_guarded("not recorded")
    def begin(self):
        recorder = _functions_recorder()
        self.before = recorder.files, recorder.max_entries, recorder.stacks
        self.started = list(recorder.started)
        recorder.files, recorder.max_entries, recorder.stacks = self.files, self.max_entries, self.stacks
        self.recorder = recorder
        recorder.arm()

    @_guarded("no dump")
    def finish(self):
        recorder = self.recorder
        if recorder is None:
            return
        if not recorder.backends:
            _say("no device was used: nothing was recorded")
        elif not self.files.written and recorder.why_not is None:
            recorder.dump("exit")
        self.path = self.files.written[-1] if self.files.written else None
        recorder.files, recorder.max_entries, recorder.stacks = self.before
        for backend in list(recorder.started):
            if backend not in self.started:
                recorder.stop(backend)

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, *_):
        self.finish()
        return False


@_guarded("not recorded")
def on_oom(path="oom-rank{rank}.pickle", max_entries=1000000, stacks="python"):
    """Records from now on. Whenever memory runs out, dumps to `path`, over the dump before; "{rank}" becomes the rank."""
    recorder = _functions_recorder()
    recorder.files, recorder.max_entries, recorder.stacks = _OneFile(path), max_entries, stacks
    recorder.arm()
