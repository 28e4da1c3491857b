"""`strata run`: its recordings, the exit codes and signals that it passes on, and its messages; with a stand-in for
torch (stand_in_torch/)."""

import glob
import json
import os
import pathlib
import pickle
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from cli_case import MIB, ROOT, STRATA, Case

STAND_IN = ROOT / "tests" / "stand_in_torch"
TRAIN = """
import os, sys, torch
from torch import _C
class SGD(torch.optim.Optimizer): pass
optimizer = SGD()
def train(steps):
    weights = [_C.allocate(10 << 20) for _ in range(4)]
    for step in range(steps):
        for address in [_C.allocate(20 << 20) for _ in range(5)]: _C.free(address)
        optimizer.step()
def run_out():
    try: _C.allocate(2 << 30)
    except torch.OutOfMemoryError: print("caught")
"""


def pythons():
    """Every installed Python from 3.8 on."""
    found = {sys.executable}
    found.update(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python")))
    found.update(filter(None, (shutil.which(f"python3.{minor}") for minor in range(8, 20))))
    ask = "import sys; print('%d.%d' % sys.version_info[:2], sys.version_info >= (3, 8))"
    versions = {}
    for path in sorted(found):
        answer = subprocess.run([path, "-c", ask], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        words = answer.stdout.decode().split()
        if len(words) == 2 and words[1] == "True":
            versions.setdefault(words[0], path)
    return versions


class RunCase(Case):
    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items()
                if not re.match("RANK$|SLURM_|OMPI_|PMI_|STRATA_|STAND_IN", name)}
        return {**kept, "PYTHONPATH": str(STAND_IN), **more}

    def record(self, code, program, *options, python=sys.executable, **more):
        self.write("train.py", (TRAIN + program).encode())
        return self.expect(code, "run", "--out", "d", *options, "--", python, "train.py", env=self.environment(**more))

    def dumps(self, folder="d"):
        return sorted(path.name for path in (self.path / folder).iterdir()
                      if path.name.startswith(("rank", "pid")) and path.suffix in (".pickle", ".part"))

    def load(self, name):
        return pickle.loads((self.path / "d" / name).read_bytes())


class Recorder(RunCase):
    def test_steps_and_end_under_every_python(self):
        for version, python in pythons().items():
            with self.subTest(version):
                shutil.rmtree(self.path / "d", ignore_errors=True)
                result = self.record(0, "train(8); print('out')", "--no-report", python=python, RANK="3")
                self.assertEqual(result.stdout, b"out\n")
                self.assertEqual(self.dumps(), ["rank3_exit.pickle", "rank3_steps.pickle"])
                # 4 weights, then 5 steps of 5 allocations and 10 events of their frees
                self.assertEqual(len(self.load("rank3_steps.pickle")["device_traces"][0]), 4 + 5 * 15)
                self.assertEqual(len(self.load("rank3_exit.pickle")["device_traces"][0]), 4 + 8 * 15)

    def test_dumps_are_phases_of_the_host_log(self):
        self.record(0, "train(6); run_out()", "--no-report", RANK="0")
        log = self.path / "d" / "host.log"
        said = re.findall(r"(?m)^(\S+ \S+) strata-dump (\S+)$", log.read_text())
        self.assertEqual([name for _, name in said], ["rank0_steps.pickle", "rank0_oom.pickle", "rank0_exit.pickle"])
        self.assertEqual([time for time, _ in said], sorted(time for time, _ in said))
        phases = self.report(str(log))["devices"][0]["phases"]
        self.assertEqual([phase["name"] for phase in phases], [name for _, name in said])

    def test_out_of_memory_twice(self):
        self.record(0, "_C._cuda_attach_out_of_memory_observer(lambda *_: print('theirs'))\ntrain(1); run_out(); run_out()",
                    RANK="0")
        self.assertEqual(self.dumps(), ["rank0_exit.pickle", "rank0_oom-2.pickle", "rank0_oom.pickle"])
        self.assertEqual([event["action"] for event in self.load("rank0_oom-2.pickle")["device_traces"][0]].count("oom"), 2)
        self.assertTrue((self.path / "d" / "index.html").exists())

    def test_the_plan_is_on_the_last_screen(self):
        oom = ROOT / "samples" / "oom.pickle"
        result = self.expect(0, "run", "--out", "d", "--", "cp", oom, "d/rank0_oom.pickle", env=self.environment())
        brief = json.loads(self.expect(0, "report", "--brief", oom).stdout)
        self.assertIn("  Plan           " + brief["devices"][0]["plan"][0], result.stderr.decode())

    def test_keep_and_steps_and_entries(self):
        self.record(0, "train(9); [run_out() for _ in range(4)]", "--keep", "2", "--steps", "2", "--max-entries", "7",
                    "--no-report", RANK="0")
        self.assertEqual(self.dumps(), ["rank0_exit.pickle", "rank0_oom-4.pickle"])
        self.assertEqual(len(self.load("rank0_exit.pickle")["device_traces"][0]), 7)

    def test_stop(self):
        self.record(0, "train(9); run_out()", "--stop", "--steps", "2", "--no-report", RANK="0")
        self.assertEqual(self.dumps(), ["rank0_oom.pickle", "rank0_steps.pickle"])
        self.assertEqual(len(self.load("rank0_steps.pickle")["device_traces"][0]), 4 + 2 * 15)
        self.assertEqual(self.load("rank0_oom.pickle")["device_traces"], [[]])

    def test_torch_is_not_imported(self):
        result = self.expect(0, "run", "--no-report", "--", sys.executable, "-c", "import sys; print('torch' in sys.modules)",
                             env=self.environment())
        self.assertEqual(result.stdout, b"False\n")

    def test_processes_that_run_elsewhere(self):
        """Processes like srun's, which are children of another program: they are recorded, and a message says that
        nobody watched them."""
        self.write("train.py", (TRAIN + "train(6)").encode())
        # The test starts the process for the command, with its environment.
        ask = "import json, os, time; json.dump(dict(os.environ), open('asked.part', 'w')); os.rename('asked.part', 'asked')\n"
        ask += "while not os.path.exists('answered'): time.sleep(0.01)"
        run = self.start("run", "--out", "d", "--no-report", "--", sys.executable, "-c", ask, env=self.environment(RANK="0"))
        while "asked" not in self.files():
            time.sleep(0.01)
        environment = json.loads((self.path / "asked").read_text())
        subprocess.run([sys.executable, "train.py"], cwd=self.path, env=environment, check=True)
        self.write("answered", b"")
        said = run.communicate(timeout=60)[1].decode()
        self.assertIn("1 of them ran elsewhere", said)
        self.assertIn("strata-dump rank0_exit.pickle elsewhere\n", (self.path / "d" / "host.log").read_text())

    def test_arguments_by_version(self):
        wanted = {"2.0.1": {"legacy": True, "cpp": False}, "2.1.0": {"stacks": "python", "annotations": True},
                  "2.14.0a0+git": {"stacks": "python", "annotations": True, "pinned": True}}
        for version, how in wanted.items():
            with self.subTest(version):
                shutil.rmtree(self.path / "d", ignore_errors=True)
                self.record(0, "train(1)", "--no-report", RANK="0", STAND_IN_VERSION=version)
                self.assertEqual(self.load("rank0_exit.pickle")["stand_in"], [how])
                how.update(cpp=True) if "cpp" in how else how.update(stacks="all")
                shutil.rmtree(self.path / "d")
                self.record(0, "train(1)", "--no-report", "--stacks", "all", RANK="0", STAND_IN_VERSION=version)
                self.assertEqual(self.load("rank0_exit.pickle")["stand_in"], [how])

    def test_too_old(self):
        result = self.record(0, "train(1); print('out')", "--no-report", STAND_IN_VERSION="1.13.1")
        self.assertEqual(result.stdout, b"out\n")
        self.assertEqual(self.dumps(), [])
        said = [line for line in result.stderr.decode().splitlines() if line.startswith("strata run: pid ")]
        self.assertEqual(len(said), 1, said)
        self.assertIn("torch 1.13.1 has no memory history", said[0])

    def test_no_failure_of_ours_breaks_the_program(self):
        for name in ("history", "attach", "hooks", "snapshot", "mem_get_info"):
            with self.subTest(name):
                shutil.rmtree(self.path / "d", ignore_errors=True)
                result = self.record(3, "train(8); run_out(); print('out'); sys.exit(3)", "--no-report",
                                     STAND_IN_BROKEN=name)
                self.assertEqual(result.stdout, b"caught\nout\n")
                self.assertIn(name + " is broken", result.stderr.decode())
                self.assertNotIn("Traceback", result.stderr.decode())
                self.assertFalse([dump for dump in self.dumps() if dump.endswith(".part")])

    def test_hidden_sitecustomize(self):
        folder = self.path / "site"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text("import sys; sys.hidden = __file__\n")
        result = self.record(0, "import sitecustomize; print(sys.hidden == sitecustomize.__file__); train(1)", "--no-report",
                             PYTHONPATH=f"{folder}:{STAND_IN}", RANK="0")
        self.assertEqual(result.stdout, b"True\n")
        self.assertEqual(self.dumps(), ["rank0_exit.pickle"])

    def test_forked_and_spawned(self):
        for method in ("fork", "spawn"):
            with self.subTest(method):
                shutil.rmtree(self.path / "d", ignore_errors=True)
                self.record(0, "import multiprocessing\ndef work(rank):\n    os.environ['RANK'] = str(rank); train(6)\n"
                            f"if __name__ == '__main__':\n    context = multiprocessing.get_context('{method}')\n"
                            "    all = [context.Process(target=work, args=(rank,)) for rank in range(3)]\n"
                            "    [one.start() for one in all]; [one.join() for one in all]\n", "--no-report")
                self.assertEqual(self.dumps(), [f"rank{rank}_{why}.pickle" for rank in range(3) for why in ("exit", "steps")])

    def test_a_fork_of_a_recorded_process_dumps_nothing(self):
        self.record(0, "train(1)\nif os.fork() == 0: os._exit(0)\nos.wait(); os._exit(0)", "--no-report", RANK="0")
        self.assertEqual(self.dumps(), ["rank0_exit.pickle"])

    def test_ranks_of_launchers(self):
        for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
            self.record(0, "train(1)", "--no-report", "--keep", "1", **{name: "7"})
        self.assertEqual(self.dumps(), ["rank7_exit-2.pickle", "rank7_exit-3.pickle", "rank7_exit-4.pickle",
                                        "rank7_exit.pickle"])

    def test_a_process_alone_has_no_rank(self):
        """Its process id names the files, and is nobody's rank."""
        result = self.record(0, "train(6); print(os.getpid())")
        pid = result.stdout.decode().strip()
        self.assertEqual(self.dumps(), [f"pid{pid}_exit.pickle", f"pid{pid}_steps.pickle"])
        rows = json.loads((self.path / "d" / "summary.json").read_text())["rows"]
        self.assertEqual([row["rank"] for row in rows], [None] * len(rows))
        self.assertNotIn("rank", result.stderr.decode())

    def test_sixteen_ranks_share_a_folder(self):
        self.write("train.py", (TRAIN + "train(6)").encode())
        ranks = [self.start("run", "--out", "d", "--", sys.executable, "train.py", env=self.environment(RANK=str(rank)))
                 for rank in range(16)]
        for rank in ranks:
            rank.communicate(timeout=120)
            self.assertEqual(rank.returncode, 0)
        self.assertEqual(len(self.dumps()), 32)
        summary = json.loads((self.path / "d" / "summary.json").read_text())
        self.assertEqual({row["rank"] for row in summary["rows"] if row["rank"] is not None}, set(range(16)))

    LAUNCHER = """#!{python}
import os, subprocess, sys
ranks = [subprocess.Popen(sys.argv[3:], env=dict(os.environ, {name}=str(rank))) for rank in range(int(sys.argv[2]))]
sys.exit(max(rank.wait() for rank in ranks))
"""

    def launchers(self):
        """Stand-ins that set the variables that real launchers set, and the real launcher if it is installed."""
        for name, variable in (("mpirun", "OMPI_COMM_WORLD_RANK"), ("srun", "SLURM_PROCID")):
            path = self.path / name
            path.write_text(self.LAUNCHER.format(python=sys.executable, name=variable))
            path.chmod(0o755)
            yield [str(path), "-n", "16" if name == "srun" else "3"]
        if shutil.which("mpirun"):
            yield ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]

    def test_inside_and_outside_of_launchers(self):
        self.write("train.py", (TRAIN + "train(6); sys.exit(int(os.environ.get('CODE', 0)))").encode())
        for launcher in self.launchers():
            program = [sys.executable, "train.py"]
            run = [STRATA, "run", "--out", "d", "--no-report", "--"]
            wanted = sorted(f"rank{rank}_{why}.pickle" for rank in range(int(launcher[-1])) for why in ("exit", "steps"))
            for command in (run + launcher + program, launcher + run + program):
                with self.subTest(command):
                    shutil.rmtree(self.path / "d", ignore_errors=True)
                    done = subprocess.run(command, cwd=self.path, env=self.environment(CODE="7"), check=False, timeout=120,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    self.assertEqual(done.returncode, 7, done.stderr)
                    self.assertEqual(self.dumps(), wanted)
                    # A log names the dumps of the processes that it watched.
                    logs = [log.read_text() for log in (self.path / "d").glob("host*.log")]
                    self.assertEqual(len(logs) > 1, command[0] != STRATA)
                    self.assertEqual(sorted(re.findall("strata-dump (.*)", "".join(logs))), wanted)

    def test_torchrun(self):
        """The launcher of Debian's torch, with workers that use the stand-in; dumps are named by the rank that it gives
        them."""
        if subprocess.run(["/usr/bin/python3", "-c", "import torch.distributed.run"], capture_output=True, check=False).returncode:
            self.skipTest("Debian's python3-torch is not here")
        self.write("train.py", (f"import sys; sys.path.insert(0, {str(STAND_IN)!r})\n" + TRAIN + "train(6)").encode())
        self.expect(0, "run", "--out", "d", "--no-report", "--", "/usr/bin/python3", "-m", "torch.distributed.run",
                    # Without --redirects the launcher writes nothing under Python 3.11.
                    "--standalone", "--nproc_per_node", "2", "--redirects", "1", "--tee", "1", "--log_dir", "logs",
                    "train.py", env=self.environment(PYTHONPATH=""))
        self.assertEqual(self.dumps(), [f"rank{rank}_{why}.pickle" for rank in range(2) for why in ("exit", "steps")])

    def test_strata_itself_is_killed(self):
        """If strata is killed, the program goes on and writes its dumps; the next run in the folder makes the pages."""
        self.write("train.py", (TRAIN + "train(6); print('ready', flush=True); sys.stdin.read(); train(1); print('over')").encode())
        process = self.start("run", "--out", "d", "--", sys.executable, "train.py", stdin=subprocess.PIPE,
                             env=self.environment(RANK="0"))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.kill()
        self.assertEqual(process.wait(60), -signal.SIGKILL)
        self.assertEqual(process.communicate(b"", timeout=60)[0], b"over\n")
        self.assertEqual(self.dumps(), ["rank0_exit.pickle", "rank0_steps.pickle"])
        self.expect(0, "run", "--out", "d", "--", "true", says="Pages +d/index.html")

    def test_signal(self):
        self.write("train.py", (TRAIN + "train(1); print('ready', flush=True); sys.stdin.read()").encode())
        process = self.start("run", "--out", "d", "--no-report", "--", sys.executable, "train.py", stdin=subprocess.PIPE,
                             env=self.environment(RANK="0"))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGUSR2)
        while "rank0_signal.pickle" not in self.dumps():
            time.sleep(0.01)
        process.communicate(b"", timeout=60)
        self.assertEqual(process.returncode, 0)

    def test_functions(self):
        self.write("train.py", ("import sys; sys.path.insert(0, %r)\nimport torch_strata\n" % str(
            ROOT / "python") + TRAIN + "torch_strata.on_oom('oom.pickle')\n"
            "with torch_strata.record('block{rank}.pickle') as it: train(2)\nprint(it.path); run_out()").encode())
        result = subprocess.run([sys.executable, "train.py"], cwd=self.path, env=self.environment(RANK="5"),
                                stdout=subprocess.PIPE, check=True)
        self.assertEqual(result.stdout, b"block5.pickle\ncaught\n")
        self.assertLessEqual({"block5.pickle", "oom.pickle"}, set(self.files()))
        self.write("alone.py", (self.path / "train.py").read_bytes().replace(b"'block{rank}.pickle'", b""))
        result = subprocess.run([sys.executable, "alone.py"], cwd=self.path, env=self.environment(), stdout=subprocess.PIPE, check=True)
        self.assertRegex(result.stdout, rb"^strata-pid\d+\.pickle\n")

    def test_threads(self):
        """Steps in one thread, two others that run out of memory, and a dump by signal in between: every dump is
        complete."""
        self.record(0, "import threading, signal, time\nall = [threading.Thread(target=work) for work in (lambda: train(9), run_out, run_out)]\n"
                    "train(1); [one.start() for one in all]; os.kill(os.getpid(), signal.SIGUSR2); [one.join() for one in all]\n"
                    "while not os.path.exists('d/rank0_signal.pickle'): time.sleep(0.01)", "--no-report", RANK="0")
        self.assertEqual(self.dumps(), [f"rank0_{why}.pickle" for why in ("exit", "oom-2", "oom", "signal", "steps")])
        for name in self.dumps():
            self.assertIn("device_traces", self.load(name))

    def test_ended_by_a_signal(self):
        """A signal leaves no partial file, and earlier dumps stay."""
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT):
            with self.subTest(number):
                shutil.rmtree(self.path / "d", ignore_errors=True)
                self.record(128 + number, f"train(6); run_out(); os.kill(os.getpid(), {int(number)})", "--no-report", RANK="0")
                self.assertEqual(self.dumps(), ["rank0_oom.pickle", "rank0_steps.pickle"])

    def test_an_exception_ends_it(self):
        result = self.record(1, "train(6); raise KeyError('mine')", "--no-report", RANK="0")
        self.assertIn("KeyError: 'mine'", result.stderr.decode())
        self.assertEqual(self.dumps(), ["rank0_exit.pickle", "rank0_steps.pickle"])

    def test_torch_of_debian(self):
        """Torch 1.13 without a GPU runs as it does without strata, and one line says why nothing is recorded."""
        ask = subprocess.run(["/usr/bin/python3", "-c", "import torch; print(torch.__version__)"], capture_output=True, check=False)
        if not ask.stdout.startswith(b"1."):
            self.skipTest("Debian's python3-torch is not here")
        program = ("import torch\nweights = torch.nn.Linear(8, 8)\noptimizer = torch.optim.SGD(weights.parameters(), lr=0.1)\n"
                   "for _ in range(7): weights(torch.ones(2, 8)).sum().backward(); optimizer.step()\nprint(torch.get_num_threads() > 0)\n")
        self.write("cpu.py", program.encode())
        result = self.expect(0, "run", "--out", "d", "--no-report", "--", "/usr/bin/python3", "cpu.py", env=self.environment(PYTHONPATH=""))
        self.assertEqual(result.stdout, b"True\n")
        said = [line for line in result.stderr.decode().splitlines() if line.startswith("strata run: pid ")]
        self.assertEqual(len(said), 1, said)
        self.assertRegex(said[0], "torch 1[.].* has no memory history")
        self.assertEqual(self.dumps(), [])


class Watcher(RunCase):
    def run_shell(self, code, script, *options, says=None, **more):
        return self.expect(code, "run", "--every", "0.02", *options, "--", "sh", "-c", script, says=says,
                           env=self.environment(**more))

    def group(self, **values):
        """A stand-in for a control group, made of files."""
        folder = self.path / "group"
        folder.mkdir()
        for name, text in {"current": "1000000", "peak": str(7 * MIB), "max": str(8 * MIB),
                           "events": "oom 0\noom_kill 0"}.items():
            (folder / f"memory.{name}").write_text(values.get(name, text) + "\n")
        return str(folder)

    def test_exit_codes_and_output(self):
        for code in (0, 1, 42):
            self.assertEqual(self.run_shell(code, f"echo out; exit {code}", "--no-report").stdout, b"out\n")
        self.run_shell(143, "kill -TERM $$", "--no-report", says="signal 15")
        self.expect(127, "run", "--", "no-such-command", says="cannot run")
        self.expect(2, "run", says="no command")
        self.expect(2, "run", "--steps", "x", "--", "true")

    def test_streams_and_signals_are_untouched(self):
        data = bytes(range(256)) * 4096
        self.write("in", data)
        with open(self.path / "in", "rb") as given:
            done = subprocess.run([STRATA, "run", "--no-report", "-q", "--", "sh", "-c", "cat; echo err >&2; exec 3>&1; echo three >&3"],
                                  cwd=self.path, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        self.assertEqual((done.stdout, done.stderr), (data + b"three\n", b"err\n"))
        for ignored in ("PIPE INT USR1", "XFSZ HUP TSTP"):  # signals are handled and blocked as they are without strata
            ask = ["sh", "-c", f"trap '' {ignored}; exec \"$@\"", "sh"]
            run, read = [STRATA, "run", "--no-report", "-q", "--"], ["grep", "^Sig[BIC]", "/proc/self/status"]
            said = [subprocess.run(command, cwd=self.path, stdout=subprocess.PIPE, check=True).stdout
                    for command in (ask + read, ask + run + read)]
            self.assertEqual(said[0], said[1])

    def on_terminal(self, command, stdin=None):
        """Starts the command below a new controlling terminal, its standard input there or another file."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.path)
            if stdin is not None:
                os.dup2(os.open(stdin, os.O_RDONLY), 0)
            os.execv(command[0], command)
        return pid, terminal

    def until(self, terminal, text, told=b""):
        """Reads from the terminal until it has shown `text`, or the last process has closed it."""
        while text not in told:
            try:
                told += os.read(terminal, 4096)
            except OSError:
                break
        self.assertIn(text, told)

    def test_on_a_terminal(self):
        """The program can read from the terminal, and gets Ctrl-C once, as it does without strata."""
        program = ("import signal, sys, time\nheard = []\nsignal.signal(2, lambda *_: heard.append(1))\n"
                   "print(sys.stdin.isatty(), input(), flush=True)\n"
                   "while not heard: time.sleep(0.01)\n"
                   "time.sleep(0.5); print('heard', len(heard), flush=True); sys.exit(9)")
        pid, terminal = self.on_terminal([STRATA, "run", "--no-report", "-q", "--", sys.executable, "-c", program])
        os.write(terminal, b"word\n")
        self.until(terminal, b"True word")
        os.write(terminal, b"\x03")
        self.until(terminal, b"heard 1")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 9)
        os.close(terminal)

    def test_the_terminal_of_another_standard_input(self):
        """Programs that open /dev/tty, such as getpass, ssh and sudo, do so whatever their standard input is."""
        for program in ("stty -echo </dev/tty && read word </dev/tty && stty echo </dev/tty && echo got $word",
                        "stty tostop </dev/tty; echo got word"):
            with self.subTest(program):
                pid, terminal = self.on_terminal([STRATA, "run", "--no-report", "-q", "--", "/bin/sh", "-c", program], "/dev/null")
                os.write(terminal, b"word\n")
                signal.alarm(60)  # a background group would be stopped for ever
                self.until(terminal, b"got word")
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
                signal.alarm(0)
                os.close(terminal)

    def test_closed_streams_stay_closed(self):
        ask = "import os\nopen('said', 'w').write(' '.join(str(os.path.exists('/proc/self/fd/%d' % fd)) for fd in range(3)))"
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            said = []
            for run in ("", f"{STRATA} run -q --no-report --out d -- "):
                subprocess.run(["sh", "-c", f"{run}{sys.executable} -c \"$0\" {closed}", ask], cwd=self.path, check=True)
                said.append((self.path / "said").read_text())
            self.assertEqual(*said, closed)

    def test_a_long_python_path(self):
        path = ":".join([str(STAND_IN)] + ["/x" + "y" * 100 + str(i) for i in range(200)])
        self.record(0, "train(1)", "--no-report", RANK="0", PYTHONPATH=path)
        self.assertEqual(self.dumps(), ["rank0_exit.pickle"])

    def test_every_signal_is_passed_on(self):
        """What would end strata ends the command, not the watcher alone."""
        for number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGVTALRM, signal.SIGIO, signal.SIGABRT, signal.SIGRTMIN + 1):
            with self.subTest(number):
                process = self.start("run", "-q", "--no-report", "--out", "d", "--", "sh", "-c", "echo ready; exec sleep 60")
                self.assertEqual(process.stdout.readline(), b"ready\n")
                process.send_signal(number)
                self.assertEqual(process.wait(60), 128 + number)
                process.communicate()

    def test_only_the_owner_can_read(self):
        self.record(0, "train(6); run_out()", RANK="0")
        for path in [self.path / "d", *(self.path / "d").rglob("*")]:
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_no_secrets(self):
        """Neither the environment nor the command line is in the log, on the screen or in notes."""
        result = self.record(0, "train(6)", RANK="0", WANDB_API_KEY="secret-one")
        token = self.expect(0, "run", "--out", "d", "--", sys.executable, "train.py", "--token", "secret-two", env=self.environment())
        texts = [result.stderr, token.stderr] + [path.read_bytes() for path in (self.path / "d").rglob("*") if path.is_file()]
        self.assertFalse([text for text in texts if b"secret-one" in text or b"secret-two" in text])

    def test_folders_of_others(self):
        """A folder into which another user can put Python code: the command runs, and nothing of the folder does."""
        for mode in (0o777, 0o1777, 0o702):
            (self.path / "d").mkdir(exist_ok=True)
            (self.path / "d").chmod(mode)
            said = self.record(0, "train(1); print('out')", "--no-report", RANK="0")
            self.assertEqual(said.stdout, b"out\n")
            self.assertIn("others can write to it", said.stderr.decode())
            self.assertEqual(os.listdir(self.path / "d"), [])
        (self.path / "d").chmod(0o755)
        for planted in ("python", "python-old"):  # from an archive, for example
            (self.path / "d" / ".run" / planted).mkdir(parents=True)
            (self.path / "d" / ".run" / planted / "threading.py").write_text("print('planted')")
        self.assertEqual(self.record(0, "train(1); print('out')", "--no-report", RANK="0").stdout, b"out\n")
        self.assertEqual([name for name in os.listdir(self.path / "d" / ".run") if name.startswith("python")], [])
        (self.path / "d" / "host.log").unlink()
        (self.path / "d" / "host.log").symlink_to(self.path / "elsewhere")
        self.record(0, "train(1)", "--no-report", RANK="0")
        self.assertNotIn("elsewhere", self.files())
        if os.getuid() == 0:
            os.chown(self.path / "d", 12345, 12345)
            self.assertIn("belongs to another user", self.record(0, "train(1)", "--no-report", RANK="0").stderr.decode())

    def test_unusable_folders(self):
        self.expect(0, "run", "--no-report", "--out", "a:b", "--", "true", says="a:b\": nothing is recorded: a path with a colon")
        (self.path / "d" / "index.html").mkdir(parents=True)
        self.expect(7, "run", "--out", "d", "--", "sh", "-c", "exit 7", says=r"Pages +none: d/.run/batch.log says why")
        self.assertIn("index.html", (self.path / "d" / ".run" / "batch.log").read_text())

    def test_a_folder_that_cannot_be_made_stops_nothing(self):
        """The command runs as it does without strata: its streams, its exit code, and the codes where it cannot run."""
        for out in (["--out", "/proc/no/d"], []):
            said = subprocess.run([STRATA, "run", *out, "--", "sh", "-c", "cat; exit 5"], cwd="/proc", input=b"in", capture_output=True, check=False)
            self.assertEqual((said.returncode, said.stdout), (5, b"in"))
            self.assertEqual(said.stderr.count(b"\n"), 1, said.stderr)
            self.assertIn(b"cannot make the directory", said.stderr)
        self.expect(127, "run", "--out", "/proc/no/d", "--", "no-such-command", says="cannot run")

    def test_the_screen_is_about_this_run(self):
        """A second run in a folder: earlier processes are not counted as recorded, earlier dumps are named as such."""
        self.record(0, "train(6); run_out()", RANK="0")
        screen = self.record(0, "train(6)", RANK="0").stderr.decode()
        self.assertRegex(screen, "Recorded +1 process; 2 dumps")
        self.assertRegex(screen, "Earlier dumps +3 were in d before this run")
        self.assertNotIn("Earlier", self.record(0, "train(6)", "--out", "e", RANK="0").stderr.decode())

    def test_the_host_peak_of_a_short_process(self):
        """A process that lives between two looks of the watcher: the kernel knows its peak."""
        eater = "held = bytearray(b'x' * (96 << 20))"
        said = self.expect(0, "run", "--every", "60", "--no-report", "--", sys.executable, "-c", eater, env=self.environment()).stderr.decode()
        peak = re.search(r"Host peak +([\d.]+) MiB in one process, by the kernel", said)
        self.assertIsNotNone(peak, said)
        self.assertGreater(float(peak[1]), 96)

    def test_folders(self):
        for _ in range(2):
            self.run_shell(0, "true", "--no-report")
        self.assertEqual(self.files(), ["strata-run", "strata-run-2"])
        log = (self.path / "strata-run" / "host.log").read_text()
        self.assertRegex(log, r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} strata-host resident=\d+ processes=\d+")

    def test_host_log_is_read_as_levels(self):
        lines = [f"2026-11-23 10:00:0{i}.000 strata-host resident={i * MIB} processes=2 cgroup=5 cgroup_peak=9 "
                 f"cgroup_limit={8 * MIB} oom_kill=0" for i in range(1, 5)]
        report = self.report(self.write("host.log", "\n".join(lines).encode()))
        self.assertEqual(report["kind"], "log")
        self.assertEqual(report["devices"][0]["levels"]["host"]["peak_bytes"], 4 * MIB)

    def test_the_pages_have_the_host_log(self):
        """The run hands its log over to the pages; a log that lies beside a dump is not read unless it is named."""
        self.record(0, "train(6); import time; time.sleep(0.2); train(1)", "--every", "0.02", RANK="0")
        sidecars = list((self.path / "d").glob("*exit*.strata.json"))
        self.assertEqual([json.loads(sidecar.read_text())["batch"]["flags"] for sidecar in sidecars], ["--host host.log"])
        self.assertNotIn("names it", (self.path / "d" / ".run" / "batch.log").read_text())

        def picture(*words):
            self.expect(0, "png", "-q", "-f", "d/rank0_exit.pickle", "-o", "x.png", *words)
            return (self.path / "x.png").read_bytes()

        self.assertEqual(picture(), picture())
        self.assertNotEqual(picture(), picture("--host", "d/host.log"))
        for wrong, says in (("d/none.log", r"d/none\.log\" cannot be read"), ("d", "no plain file"),
                            ("d/rank0_steps.pickle", "has no levels of the host's memory")):
            with self.subTest(wrong):
                self.expect(1, "png", "-q", "-f", "d/rank0_exit.pickle", "-o", "y.png", "--host", wrong, says=says)
                self.assertNotIn("y.png", self.files())

    def test_the_devices_level(self):
        """The recorder asks for the free memory of the devices in use: others' memory is the difference."""
        result = self.record(0, "train(6); run_out()", "--every", "0.02", "--no-report", RANK="0", CUDA_VISIBLE_DEVICES="5,6")
        self.assertRegex(result.stderr.decode(), r"Device level +GPU 5: 296 MiB of 1.0 GiB in use at most; 256 MiB of it outside")
        lines = re.findall(r"(?m) strata-device (.*)$", (self.path / "d" / "host.log").read_text())
        self.assertGreater(len(lines), 3)
        self.assertEqual({line.split()[0] for line in lines}, {"gpu=5"})
        devices = {device["device"]: device for device in self.report(str(self.path / "d" / "host.log"))["devices"]}
        self.assertEqual(devices[5]["levels"]["device"]["peak_bytes"], 296 * MIB)
        hosts = [device for device in devices.values() if device["levels"].get("host")]
        self.assertEqual(len(hosts), 1, devices.keys())

    def test_killed_by_the_limit_of_the_group(self):
        group = self.group()
        self.run_shell(137, f"sleep 0.2; printf 'oom 1\\noom_kill 1\\n' > {group}/memory.events; kill -KILL $$", "--no-report",
                       says=r"limit of the cgroup: 7 MiB of 8 MiB[^$]*Killed +sh \(process \d+\)", STRATA_CGROUP=group)

    def test_killed_by_the_limit_of_a_group_of_version_1(self):
        folder = self.path / "group"
        folder.mkdir()
        for name, text in {"usage_in_bytes": "1000000", "max_usage_in_bytes": str(7 * MIB), "failcnt": "3",
                           "limit_in_bytes": str(8 * MIB), "oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0"}.items():
            (folder / f"memory.{name}").write_text(text + "\n")
        self.run_shell(137, f"sleep 0.2; echo 9 > {folder}/memory.failcnt; printf 'under_oom 0\noom_kill 1\n' > {folder}/memory.oom_control; "
                       "kill -KILL $$", "--no-report", says="limit of the cgroup: 7 MiB of 8 MiB", STRATA_CGROUP=str(folder))

    def real_group(self):
        """A real control group with a limit of 64 MiB; None: this machine does not allow one."""
        for mount, limit in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
            group = pathlib.Path(mount) / f"strata-test-{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            self.addCleanup(group.rmdir)
            if (group / limit).exists():
                (group / limit).write_text(str(64 * MIB))
                return group
        return None

    def test_killed_by_a_real_kernel(self):
        group = self.real_group()
        if group is None:
            self.skipTest("no control group can be made here")
        eater = "import time\nheld = []\nwhile True: held.append(bytearray(b'x' * (1 << 20))); time.sleep(0.01)"
        for _ in range(5):  # sometimes the kernel kills the watching process too
            done = subprocess.run(["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec \"$@\"", "sh", STRATA, "run", "--every", "0.05",
                                   "--no-report", "--", sys.executable, "-c", eater], cwd=self.path, stderr=subprocess.PIPE, check=False)
            if done.returncode != -signal.SIGKILL:
                break
        self.assertEqual(done.returncode, 137, done.stderr)
        said = done.stderr.decode()
        self.assertRegex(said, "Out of memory +the host, by the limit of the cgroup: 6[34].* of 64 MiB")
        size = re.search(r"Killed +python\S* \(process \d+\), ([\d.]+) MiB when last seen", said)
        self.assertIsNotNone(size, said)
        self.assertTrue(40 < float(size[1]) < 70, said)

    def test_killed_by_the_kernel(self):
        group = self.group()
        self.run_shell(137, f"sleep 0.2; printf 'oom 0\\noom_kill 1\\n' > {group}/memory.events; kill -KILL $$", "--no-report",
                       says="the kernel killed for memory", STRATA_CGROUP=group)

    def test_killed_by_someone_unknown(self):
        self.run_shell(137, "kill -KILL $$", "--no-report", says="from outside", STRATA_CGROUP=self.group())

    def test_time_limit(self):
        self.run_shell(137, "kill -KILL $$", "--no-report", says="Time limit +of the Slurm job", STRATA_CGROUP=self.group(),
                       SLURM_JOB_END_TIME=str(int(time.time())))

    def test_signals_are_passed_on(self):
        for number, code in ((signal.SIGTERM, 5), (signal.SIGINT, 6)):
            process = self.start("run", "--no-report", "--", "sh", "-c",
                                 "trap 'exit 5' TERM; trap 'exit 6' INT; echo ready; while :; do sleep 0.05; done")
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(number)
            self.assertEqual(process.wait(60), code)

    def test_a_second_interrupt_ends_it(self):
        process = self.start("run", "--no-report", "--", sys.executable, "-c",
                             "import os, signal, time\nsignal.signal(2, lambda *_: os.write(1, b'heard\\n'))\n"  # print is not reentrant
                             "print('ready', flush=True)\nwhile True: time.sleep(1)")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline(), b"heard\n")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(60), 137)


if __name__ == "__main__":
    unittest.main()
