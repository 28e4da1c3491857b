"""Records a PyTorch program's device memory: under `strata run` without a line of code, or by the functions in functions.py.

`strata run` puts this file as sitecustomize.py in front of PYTHONPATH, so every Python that it starts runs this file first.
The file then calls the sitecustomize that it hides, and waits: it never imports torch. Once the program has initialised
CUDA, XPU or Ascend, it starts the allocator's history. It dumps when memory runs out, after some optimizer steps, on SIGUSR2
and at the end.

    _Watcher     notices when the program imports modules of torch
    _Backend     cuda, xpu or npu: the names of its modules and functions; waits for the first initialisation
    _Recorder    records a process, whatever its backends, and writes the dumps

Nothing here may break or change the program: a failure prints one line on stderr. Every Python from 2.7 on can read the file
(some launchers are old); it works from Python 3.8 and torch 2.0 on. It needs no other file.
"""

import atexit
import os
import sys
import threading
import time
import weakref

_NAME = "_strata_recorder"  # a second copy of this module finds the first by this name
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_EXIT_PATIENCE_S = 60  # at its end, the process waits this long for another thread's dump
_SIGNAL_PAUSE_S = 0.05  # after this pause, everything that one signal writes has arrived

_said = set()  # lines that were printed: something that fails at every step is printed once
_running = None  # the recorder of `strata run`


def _rank():
    """The rank that the launcher gave this process. None: a process alone has none."""
    for name in _RANKS:
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return None


def _called(between=""):
    """What files and messages call this process: rank3, or pid4711."""
    rank = _rank()
    return "pid{}{}".format(between, os.getpid()) if rank is None else "rank{}{}".format(between, rank)


def _say(text):
    """Prints one line on stderr, even if the program has replaced sys.stderr."""
    line = "strata run: {}: {}\n".format(_called(" "), " ".join(str(text).split()))
    if line in _said:
        return
    _said.add(line)
    try:
        os.write(2, line.encode("utf-8", "backslashreplace"))
    except OSError:
        pass


def _reason(error):
    return "{}: {}".format(type(error).__name__, error) if str(error) else type(error).__name__


def _guarded(what):
    """Wraps a function of ours that the program's threads call, so that it prints a failure instead of raising."""

    def decorate(function):
        def call(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except Exception as error:
                _say("{}: {}".format(what, _reason(error)))
                return None

        return call

    return decorate


def _version(torch):
    """(2, 14) for "2.14.0a0+git1234"; (0, 0) if the version cannot be read."""
    parts = str(getattr(torch, "__version__", "")).split(".")
    try:
        return int(parts[0]), int("".join(digit for digit in parts[1] if digit.isdigit()))
    except (IndexError, ValueError):
        return 0, 0


# ---- the history's arguments ----


def _history_arguments(function, version, max_entries, stacks):
    """The arguments for `_record_memory_history` that this version of the function takes."""
    import inspect

    try:
        names = set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = set()
    if not {"max_entries", "trace_alloc_max_entries"} & names:  # the arguments are hidden behind *args
        names = {"max_entries"} if version >= (2, 1) else {"trace_alloc_max_entries"}
    if "max_entries" not in names:  # torch 2.0
        return {"enabled": True, "record_context": True, "trace_alloc_max_entries": max_entries,
                "trace_alloc_record_context": True, "record_context_cpp": stacks == "all"}
    arguments = {"enabled": "all", "stacks": stacks, "max_entries": max_entries}
    if "global_record_annotations" in names:
        arguments["global_record_annotations"] = True
    if "record_pinned_host_memory" in names and version >= (2, 14):
        arguments["record_pinned_host_memory"] = True
    return arguments


# ---- where dumps go ----


class _Files(object):
    """The dumps of one process in a folder: named by rank, or process id, and reason, never overwritten, at most `keep` of them.
    Only the owner can read them, because they hold paths and names."""

    def __init__(self, folder, keep):
        self.folder, self.keep, self.written = folder, keep, []
        self.numbers = {}  # reason: number of the next dump, so that no two dumps get one name

    def claim(self, why):
        """Makes the .part file of a path that nobody uses, and returns the path."""
        while True:
            number = self.numbers.get(why, 1)
            self.numbers[why] = number + 1
            name = "{}_{}{}.pickle".format(_called(), why, "" if number == 1 else "-{}".format(number))
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                continue
            try:
                os.close(os.open(path + ".part", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
                return path
            except FileExistsError:  # another process of this rank writes it, or was killed while writing it
                continue

    def add(self, path):
        self.written.append(path)
        _log("strata-dump {}{}".format(os.path.basename(path), "" if _is_watched() else " elsewhere"))
        while self.keep and len(self.written) > self.keep:
            _remove(self.written.pop(0))


def _is_watched():
    """Did `strata run` start this process or an ancestor? Not if srun started it, even if `strata run` started srun."""
    host, _, watcher = os.environ.get("STRATA_RUN_PID", "").rpartition(":")
    pid = os.getpid()
    try:
        while host == os.uname()[1] and pid > 0 and pid != int(watcher):
            with open("/proc/{}/stat".format(pid)) as stat:
                pid = int(stat.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError):
        return False
    return host == os.uname()[1] and pid == int(watcher)


@_guarded("host.log is not told")
def _log(text):
    """Writes a line into the host's log of `strata run`, by one write, because other processes write there too."""
    path, now = os.environ.get("STRATA_RUN_LOG"), time.time()
    if path:
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now))
        log = os.open(path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(log, "{}.{:03d} {}\n".format(stamp, int(now % 1 * 1000), text).encode("utf-8", "backslashreplace"))
        finally:
            os.close(log)


def _number_on_host(index):
    """The number that the host gives to the CUDA device `index` of this process."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return int(visible[index]) if index < len(visible) and visible[index].strip().isdigit() else index


def _remove(path):
    try:
        os.remove(path)
    except OSError:
        pass


# ---- devices ----


class _Backend(object):
    """A kind of device, and the modules of torch that serve it."""

    def __init__(self, kind, module, bindings, prefix):
        self.kind, self.name, self.bindings, self.prefix = kind, module, bindings, prefix
        self.original = self.wrapper = None

    def module(self):
        return sys.modules.get(self.name)

    def memory(self):
        return sys.modules.get(self.name + ".memory") or getattr(self.module(), "memory", None)

    def levels(self):
        """(index, free, total, reserved by our allocator) of each device that this process holds memory of. Nothing is asked
        while a stream is captured into a graph."""
        module = self.module()
        ask, captures = getattr(module, "mem_get_info", None), getattr(module, "is_current_stream_capturing", None)
        if ask is None or (captures is not None and captures()):
            return
        for index in range(module.device_count()):
            reserved = module.memory_reserved(index)
            if reserved:
                free, total = ask(index)
                yield index, free, total, reserved

    def is_initialized(self):
        module = self.module()
        asked = getattr(module, "is_initialized", None)
        return bool(asked()) if asked is not None else bool(getattr(module, "_initialized", False))

    def binding(self, suffix):
        """A function of torch's C module, such as _cuda_attach_out_of_memory_observer. None: this version lacks it."""
        return getattr(sys.modules.get(self.bindings), self.prefix + suffix, None)

    def wait(self, then):
        """Calls then(self) after the first initialisation, which precedes every use of a device."""
        module = self.module()
        original = getattr(module, "_lazy_init", None)
        if original is None or self.wrapper is not None:
            return

        @_guarded("not recorded")
        def initialized():
            if self.is_initialized():
                then(self)

        def _lazy_init(*args, **kwargs):
            result = original(*args, **kwargs)
            initialized()
            return result

        self.original, self.wrapper = original, _lazy_init
        module._lazy_init = _lazy_init

    def wait_no_more(self):
        """Restores the program's function, so that later calls cost nothing."""
        module = self.module()
        if self.wrapper is not None and getattr(module, "_lazy_init", None) is self.wrapper:
            module._lazy_init = self.original
            self.wrapper = None


_BACKENDS = (
    _Backend("CUDA", "torch.cuda", "torch._C", "_cuda_"),
    _Backend("XPU", "torch.xpu", "torch._C", "_xpu_"),
    _Backend("Ascend", "torch_npu.npu", "torch_npu._C", "_npu_"),
)


# ---- the recorder ----


class _Recorder(object):
    """Records this process. Any thread may dump; `lock` admits one at a time, and no dump begins within a dump."""

    def __init__(self, files, max_entries=1000000, stacks="python"):
        self.files, self.max_entries, self.stacks = files, max_entries, stacks  # files None: do not dump
        self.status, self.n_steps, self.stops, self.to_the_end = None, 0, False, False
        self.every_s = 1.0  # between two looks at the devices
        self.is_hooked = False
        self.seen = weakref.WeakKeyDictionary()  # optimizer: number of its steps
        self.forget()

    def forget(self):
        """In a forked child, forgets the parent's threads, dumps and device."""
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.owner = None  # the thread that is dumping
        self.backends, self.started, self.observed = [], [], []
        self.steps_done = self.ended = False
        self.most_steps, self.n_dumps, self.dumped_nbytes, self.seconds = 0, 0, 0, 0.0
        self.levels, self.next_look = {}, 0.0  # number of a device: its note when least was free
        self.why_not = None  # the reason, once printed, why nothing can be recorded
        self.seen.clear()
        if self.files is not None:
            self.files.written, self.files.numbers = [], {}

    # -- begin --

    def arm(self):
        """Records on devices that are initialised already, and waits for the others."""
        for backend in _BACKENDS:
            if backend in self.backends:
                self.record(backend)
            elif backend.module() is not None:
                self.meet(backend)

    def meet(self, backend):
        if backend.is_initialized():
            self.begin(backend)
        else:
            backend.wait(self.begin)

    def begin(self, backend):
        if backend in self.backends or self.pid != os.getpid() or self.why_not is not None:
            return
        self.backends.append(backend)
        backend.wait_no_more()
        started = time.monotonic()
        try:
            self.record(backend)
            self.observe(backend)
            if self.to_the_end:
                self.hook()
        finally:
            self.seconds += time.monotonic() - started
            self.note()

    def record(self, backend):
        torch = sys.modules.get("torch")
        history = getattr(backend.memory(), "_record_memory_history", None)
        if history is None or _version(torch) < (2, 0):
            self.refuse("torch {} has no memory history for {}; not recorded".format(
                getattr(torch, "__version__", "?"), backend.kind))
        elif not _is_recording(backend, self):
            history(**_history_arguments(history, _version(torch), self.max_entries, self.stacks))
            self.started.append(backend)

    def stop(self, backend):
        version = _version(sys.modules.get("torch"))
        backend.memory()._record_memory_history(enabled=None if version >= (2, 1) else False)
        self.started.remove(backend)

    def refuse(self, why):
        self.why_not = why
        _say(why)

    def observe(self, backend):
        attach = backend.binding("attach_out_of_memory_observer")
        if attach is None and self.why_not is None:
            _say("torch has no out-of-memory observer for {}: no dump when memory runs out".format(backend.kind))
        if attach is None or backend in self.observed:
            return
        self.observed.append(backend)

        def observer(*_device_requested_total_free):
            if os.getpid() == self.pid:
                self.dump("oom")

        attach(_guarded("no dump when memory ran out")(observer))

    def hook(self):
        """Installs what all devices share: for steps, the end and SIGUSR2. A forked child inherits all but the thread."""
        if not self.is_hooked:
            self.is_hooked = True
            register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_post_hook", None)
            if register is not None:
                register(_guarded("steps are not counted")(self.step))
            elif self.n_steps:
                _say("torch has no hook behind optimizer steps: no dump after {} steps".format(self.n_steps))
            atexit.register(self.end)
            _exit_hook(self)
        if _signal_pipe.open_for(self.pid):
            threading.Thread(target=self.hear, name="strata-run", daemon=True).start()

    # -- steps --

    def step(self, optimizer, *_args, **_kwargs):
        """Counts the steps of each optimizer apart, since some programs have an optimizer for every parameter."""
        if self.pid != os.getpid():
            return
        if time.monotonic() >= self.next_look:
            self.look()
        if self.steps_done or not self.n_steps:
            return
        count = self.seen.get(optimizer, 0) + 1
        self.seen[optimizer] = count
        self.most_steps = max(self.most_steps, count)
        if count < self.n_steps:
            return
        self.steps_done = True
        self.dump("steps")
        for backend in list(self.started) if self.stops else ():
            self.stop(backend)

    # -- what the devices have free --

    @_guarded("the device's free memory is not noted")
    def look(self):
        """Notes used, total and our reserved memory of the devices, all other processes included: behind a step, at most
        once between two samples of the host, and at each dump."""
        self.next_look = time.monotonic() + self.every_s
        for backend in self.backends if self.status is not None else ():
            for index, free, total, reserved in backend.levels():
                gpu, used = _number_on_host(index), total - free
                if _is_watched():
                    _log("strata-device gpu={} used={} total={} reserved={}".format(gpu, used, total, reserved))
                if used >= self.levels.get(gpu, {"used": 0})["used"]:
                    self.levels[gpu] = {"gpu": gpu, "used": used, "total": total, "reserved": reserved}

    # -- SIGUSR2 --

    @_guarded("SIGUSR2 is not heard any more")
    def hear(self):
        """The thread that dumps on SIGUSR2, even while the main thread waits in C for another rank."""
        while os.read(_signal_pipe.ends[0], 1):
            time.sleep(_SIGNAL_PAUSE_S)
            _signal_pipe.drain()
            self.dump("signal")

    # -- dumps --

    def dump(self, why, patience_s=-1):
        if self.files is None or not self.backends or self.owner == threading.get_ident():
            return  # the last condition: this thread is dumping already
        if not self.lock.acquire(timeout=patience_s):
            return
        self.owner, started = threading.get_ident(), time.monotonic()
        self.look()
        try:
            for backend in self.backends:
                if hasattr(backend.memory(), "_dump_snapshot"):
                    self.dump_backend(backend, why if len(self.backends) == 1 else why + "_" + backend.kind.lower())
        except Exception as error:
            _say("no dump ({}): {}".format(why, _reason(error)))
        finally:
            self.seconds += time.monotonic() - started
            self.owner = None
            self.lock.release()
        self.note()

    def dump_backend(self, backend, why):
        path = self.files.claim(why)
        part = path + ".part"
        try:
            backend.memory()._dump_snapshot(part)
            self.dumped_nbytes += os.path.getsize(part)
            os.replace(part, path)
        finally:
            _remove(part)
        self.n_dumps += 1
        self.files.add(path)

    # -- the end --

    @_guarded("no dump at the end")
    def end(self):
        if self.ended or self.pid != os.getpid():
            return
        self.ended = True
        if self.why_not is None and not (self.stops and self.steps_done):
            self.dump("exit", _EXIT_PATIENCE_S)

    # -- the note for `strata run` --

    @_guarded("strata run is not told")
    def note(self):
        """Writes a small file for the summary: what this process did, and its cost."""
        if self.status is None or not self.backends:
            return
        torch = sys.modules.get("torch")
        said = {"pid": self.pid, "rank": _rank(), "torch": str(getattr(torch, "__version__", "")),
                "device": ", ".join(backend.kind for backend in self.backends), "why_not": self.why_not,
                "watched": _is_watched(), "levels": list(self.levels.values()), "dumps": self.n_dumps, "dumped_bytes": self.dumped_nbytes, "steps": self.most_steps,
                "microseconds": int(self.seconds * 1e6)}
        _note_write(self.status, said)


def _note_write(folder, said):
    import json

    path = os.path.join(folder, "process-{}-{}.json".format(os.uname()[1], os.getpid()))
    with os.fdopen(os.open(path + ".part", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as out:
        json.dump(said, out)
    os.replace(path + ".part", path)


def _is_recording(backend, recorder):
    """Does the program, or `strata run`, already record a history, so that we must not begin one?"""
    enabled = backend.binding("isHistoryEnabled")
    if enabled is not None and enabled():
        return True
    run = getattr(sys.modules.get(_NAME), "_running", None)
    return run is not None and run is not recorder and any(backend.name == other.name for other in run.started)


# ---- hooks of the interpreter, one of each in a process ----


class _SignalPipe(object):
    """SIGUSR2 writes into a pipe. faulthandler's handler does it in C, whatever the main thread is doing. It is installed when
    torch is imported, so a handler of the program comes later and replaces it."""

    def __init__(self):
        self.ends, self.pid = None, None

    def install(self):
        import faulthandler
        import signal

        if self.pid == os.getpid() or not hasattr(faulthandler, "register"):
            return
        if self.ends is None and signal.getsignal(signal.SIGUSR2) != signal.SIG_DFL:
            return  # the program, or its parent, uses the signal itself
        self.ends = os.pipe()
        os.set_blocking(self.ends[1], False)
        faulthandler.register(signal.SIGUSR2, file=self.ends[1], all_threads=False, chain=False)
        self.pid = os.getpid()

    def drain(self):
        """Reads the rest of the traceback that one signal wrote; nobody needs it."""
        import select

        while select.select(self.ends[:1], [], [], 0)[0]:
            os.read(self.ends[0], 1 << 16)

    def open_for(self, pid):
        """False: the program uses SIGUSR2."""
        if self.ends is not None and self.pid != pid:
            self.install()  # a forked child needs a pipe of its own
        return self.ends is not None


_signal_pipe = _SignalPipe()


def _exit_hook(recorder):
    """Processes of multiprocessing end by os._exit, which does not call atexit's functions."""
    original = os._exit

    def _exit(status):
        recorder.end()
        original(status)

    os._exit = _exit


def _forget_after_fork(recorder):
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_guarded("not recorded in a forked process")(recorder.forget))


class _Watcher(object):
    """A finder of modules that asks the other finders, and calls a function of ours after the module's own code."""

    def __init__(self, then):
        self.then = then  # name of a module: the function to call with it

    def find_spec(self, name, path=None, target=None):
        if name not in self.then:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                self.follow(spec)
                return spec
        return None

    def follow(self, spec):
        loader, then = spec.loader, self.then[spec.name]
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module):
            loader.__dict__.pop("exec_module", None)
            execute(module)
            then(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            _say("the import of {} cannot be followed; not recorded".format(spec.name))


def _watch(recorder):
    @_guarded("not recorded")
    def imported(backend):
        if recorder.to_the_end:
            _signal_pipe.install()
        recorder.meet(backend)

    @_guarded("not recorded")
    def torch_imported(torch):
        if (0, 0) < _version(torch) < (2, 0):
            recorder.refuse("torch {} has no memory history (2.0 and later have); not recorded".format(torch.__version__))
            if recorder.status is not None:
                _note_write(recorder.status, {"pid": os.getpid(), "rank": _rank(), "why_not": recorder.why_not,
                                              "torch": str(torch.__version__)})

    then = {"torch": torch_imported}
    for backend in _BACKENDS:
        then[backend.name] = lambda _module, backend=backend: imported(backend)
    sys.meta_path.insert(0, _Watcher(then))


# ---- under `strata run` ----


def _number(name, default):
    value = os.environ.get(name, "")
    return int(value) if value.isdigit() else default


@_guarded("not recorded")
def _start():
    global _running
    folder = os.environ.get("STRATA_RUN_DIR")
    if not folder or sys.version_info < (3, 8):
        return
    recorder = _running = _Recorder(_Files(folder, _number("STRATA_RUN_KEEP", 8)),
                                    _number("STRATA_RUN_MAX_ENTRIES", 1000000), os.environ.get("STRATA_RUN_STACKS", "python"))
    recorder.to_the_end = True
    recorder.status = os.path.join(folder, ".run")
    recorder.n_steps = _number("STRATA_RUN_STEPS", 5)
    recorder.every_s = _number("STRATA_RUN_EVERY_MS", 1000) / 1000.0
    recorder.stops = os.environ.get("STRATA_RUN_STOP") == "1"
    _forget_after_fork(recorder)
    _watch(recorder)


def _hidden_call(folder):
    """Runs the sitecustomize that this file hides, if there is one."""
    others = [path for path in sys.path if os.path.realpath(path or ".") != folder]
    if sys.version_info < (3,):
        import imp

        try:
            found = imp.find_module("sitecustomize", others)
        except ImportError:
            return
        imp.load_module("sitecustomize", *found)
        return
    import importlib.machinery
    import importlib.util

    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    _folder = os.path.dirname(os.path.realpath(__file__))
    if _NAME not in sys.modules:  # otherwise one `strata run` runs inside of another, and the inner one records
        sys.modules[_NAME] = sys.modules["sitecustomize"]
        _start()
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or ".") != _folder]
    _hidden_call(_folder)
