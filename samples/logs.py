#!/usr/bin/env python3
"""Writes the sample logs, one per form that Strata reads; the same bytes every time.

    samples/logs.py [FOLDER]     into this folder, or into FOLDER

The forms are those of the projects that docs/inputs-reference.md names; the runs are made up.
"""

import inspect
import pathlib
import random
import re
import sys

from log_forms import PASTED

HERE = pathlib.Path(__file__).resolve().parent
GIB = 1 << 30


def clock(second):
    return f"2026-11-22 {10 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def deepspeed():
    """see_memory_usage around the phases of ten steps; what backward leaves rises by 0.25 GB a step."""
    second, most = 0, 0.0
    for step in range(-1, 10):
        phases = ("Before creating model", "After creating model", "After initializing optimizer")
        levels = (0.0, 13.2, 39.6)
        if step >= 0:
            phases = ("before forward", "after forward", "before backward", "after backward", "after step")
            levels = tuple(39.6 + 0.25 * step + extra for extra in (0, 21.4, 21.4, 13.2, 0))
        for phase, level in zip(phases, levels):
            second += 3
            most = max(most, level)
            head = f"[{clock(second)},{(second * 37) % 1000:03d}] [INFO] [utils.py:781:see_memory_usage] "
            peak = round(level + (4.4 if "backward" in phase else 0.0), 2)
            yield head + phase
            yield (f"{head}MA {round(level, 2)} GB         Max_MA {peak} GB         CA {round(most + 2.5, 2)} GB         "
                   f"Max_CA {round(most + 2.5)} GB ")
            yield f"{head}CPU Virtual Memory:  used = {round(112.4 + 0.02 * second, 2)} GB, percent = 22.{second % 10}%"
        yield f"{clock(second)} INFO train: step {step} loss {8.1 - 0.1 * step:.3f}"


def arctic():
    """Arctic Training's variant, with NVML's figure and the host's memory in one line, of ranks 0 and 1."""
    for step in range(6):
        for rank in (0, 1):
            level = 5.25 + 0.5 * rank
            yield f"[{rank}] mp: after step {step}"
            yield (f"[{rank}] mp: MA {level:0.2f} GB | Max_MA {level + 3:0.2f} GB | CA {level + 4:0.2f} GB | "
                   f"Max_CA {level + 4:0.2f} GB | NV {level + 5.5:0.2f} GB | "
                   f"CPU Virtual Memory:  used = {61.5 + step} GB, percent = 12.{step}%")


def megatron():
    """report_memory of four ranks, whose lines come in any order; rank 2 rises by 24 MB an iteration."""
    dice = random.Random(4)
    for iteration in range(1, 25):
        lines = []
        for rank in range(4):
            now = 20480.5 + rank * 64 + (24 * iteration if rank == 2 else 0)
            most = 29696.25 + (24 * iteration if rank == 2 else 0)
            lines.append(f"[Rank {rank}] (after {iteration} iterations) memory (MB) | allocated: {now} | max allocated: {most} | "
                         f"reserved: 32000.0 | max reserved: 32000.0")
            if iteration > 20:  # --log-device-memory-used
                lines[-1] += f" | total device memory used: {33500 + rank:.2f}"
        dice.shuffle(lines)
        if iteration == 3:  # two ranks print at once
            lines[1:3] = [lines[1] + lines[2], ""]
        yield (f" [{clock(iteration * 7)}] iteration {iteration:8d}/ 500000 | consumed samples: {iteration * 512} | "
               f"elapsed time per iteration (ms): 7012.4 | lm loss: {11 - 0.1 * iteration:.6E} |")
        yield from lines


def torchtitan():
    """Steps with ANSI colours; the figure is the most memory that was reserved."""
    yield "[rank0]:[titan] 2026-11-22 10:00:00,120 - root - INFO - CUDA memory usage for model: 15.25GiB(19.28%)"
    for step in range(1, 13):
        used = 61.24 if step == 1 else 71.99
        yield (f"[rank0]:[titan] {clock(step * 5)},{step:03d} - root - INFO - \x1b[31mstep: {step:2}  \x1b[32mloss: {9 - 0.2 * step:7.4f}  "
               f"\x1b[38;2;180;60;0mgrad_norm: {2.5:7.4f}  \x1b[38;2;54;234;195mmemory: {used:5.2f}GiB"
               f"({100 * used / 79.1:.2f}%)  \x1b[34mtps: 3,502  \x1b[36mtflops: 301.90  \x1b[35mmfu: 30.53%\x1b[39m")
    yield (f"[rank0]:[titan] {clock(65)},013 - root - INFO - \x1b[33mvalidate step: 12  \x1b[32mloss:  6.5881  "
           f"\x1b[38;2;54;234;195mmemory: 58.20GiB(73.58%)  \x1b[34mtps: 9,120\x1b[39m")


def oom_old():
    """torch 1.4 to 1.9."""
    yield "Epoch 3:  12%|#2        | 120/1000"
    yield ("RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 9.71 GiB already "
           "allocated; 5.56 MiB free; 9.86 GiB reserved in total by PyTorch)")


def oom_cached():
    """torch 1.3 and before."""
    yield ("RuntimeError: CUDA out of memory. Tried to allocate 352.00 MiB (GPU 1; 15.90 GiB total capacity; 14.53 GiB already "
           "allocated; 155.88 MiB free; 402.50 MiB cached)")


def oom_allowed():
    """torch 1.10 to 2.0, with a limit for the process (since 1.8)."""
    yield ("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 5.91 GiB already allocated; "
           "7.44 GiB free; 7.89 GiB allowed; 6.12 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try "
           "setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF")


def oom_allowed_new():
    """The same since 2.1; in a container the process does not find itself among the others."""
    yield ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 15.78 GiB of which "
           "7.44 GiB is free. Process 3258 has 8.34 GiB memory in use. 7.89 GiB allowed; Of the allocated memory 5.91 GiB is allocated "
           "by PyTorch, and 215.04 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
           "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  "
           "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)")


def oom_new():
    """torch 2.3 and later, with other processes, of rank 3."""
    yield "[rank3]: Traceback (most recent call last):"
    yield '[rank3]:   File "train.py", line 41, in <module>'
    yield ("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 3 has a total capacity of 79.10 GiB "
           "of which 912.44 MiB is free. Process 2211 has 2.00 GiB memory in use. Process 2212 has 512.00 MiB memory in use. "
           "Including non-PyTorch memory, this process has 75.70 GiB memory in use. Of the allocated memory 70.25 GiB is allocated "
           "by PyTorch, with 512.00 MiB allocated in private pools (e.g., CUDA Graphs), and 3.75 GiB is reserved by PyTorch but "
           "unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "
           "to avoid fragmentation.  See documentation for Memory Management")


def oom_wrapped():
    """The same kind of text, wrapped by a terminal, with the spelling of 2.1."""
    yield "torch.cuda.OutOfMemoryError: CUDA out of memory."
    yield "Tried to allocate 128.00 MiB. GPU 0 has a total capacty of 23.69 GiB of which 61.31 MiB is free."
    yield "Including non-PyTorch memory, this process has 23.62 GiB memory in use."
    yield "Of the allocated memory 22.10 GiB is allocated by PyTorch,"
    yield "and 1.02 GiB is reserved by PyTorch but unallocated."


def memory_summary():
    """torch.cuda.memory_summary() before and after a step."""
    rule, edge = "-" * 75, "=" * 75
    for now, most in ((8388, 12582), (1205248, 3145728)):
        yield f"|{edge}|"
        yield f"|{'PyTorch CUDA memory summary, device ID 0':^75}|"
        yield f"|{rule}|"
        yield f"|{'CUDA OOMs: 0':^37}|{'cudaMalloc retries: 0':^37}|"
        yield f"|{edge}|"
        yield "|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |"
        yield f"|{rule}|"
        for name, a, b in (("Allocated memory", now, most), ("      from large pool", now - 100, most - 100), ("Active memory", now, most),
                           ("Requested memory", now - 5, most - 5), ("GPU reserved memory", most + 20480, most + 20480)):
            yield f"| {name:<21} | {a:7d} KiB | {b:7d} KiB | {9 * b:7d} KiB | {9 * b - a:7d} KiB |"
            yield f"|{rule}|"
        yield f"|{edge}|"


def nvidia_smi():
    """nvidia-smi --query-gpu=timestamp,index,name,memory.total,memory.used,utilization.gpu --format=csv -l 5"""
    yield "timestamp, index, name, memory.total [MiB], memory.used [MiB], utilization.gpu [%]"
    for i in range(12):
        for gpu in (0, 1):
            used = 1024 + 512 * min(i, 6) + 256 * gpu
            yield f"2026/11/22 10:00:{i * 5:02d}.{100 + gpu}, {gpu}, NVIDIA H100 80GB HBM3, 81559 MiB, {used} MiB, {90 + i % 9} %"


# ---- errors of every backend ----


def error_hip():
    """torch 2.4 on ROCm under Windows: much was free (words of Comfy-Org/ComfyUI issue 9529)."""
    yield ("torch.OutOfMemoryError: HIP out of memory. Tried to allocate 432.00 MiB. GPU 0 has a total capacity of 15.92 GiB of which 7.12 GiB is "
           "free. Of the allocated memory 8.08 GiB is allocated by PyTorch, and 321.96 MiB is reserved by PyTorch but unallocated. If reserved but "
           "unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for "
           "Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)")


def error_xpu():
    """torch 2.5 on XPU, c10/xpu/XPUCachingAllocator.cpp: what was free is not printed."""
    yield ("torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.11 GiB. Of the allocated memory "
           "13.40 GiB is allocated by PyTorch, and 1.02 GiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all "
           "unoccupied cached memory.")


def error_xpu_large():
    """torch 2.12 on XPU prints it (words of intel/torch-xpu-ops issue 3157)."""
    yield ("torch.OutOfMemoryError: XPU out of memory. Tried to allocate 32.00 GiB. GPU 0 has a total capacity of 11.59 GiB of which 9.01 GiB is free. "
           "Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. Please use `empty_cache` to "
           "release all unoccupied cached memory.")


def error_mps():
    """torch 2.x on MPS, aten/src/ATen/mps/MPSAllocator.mm: a limit of its own."""
    yield "Traceback (most recent call last):"
    yield '  File "/home/you/app/generate.py", line 88, in sample'
    yield "    attn_output = torch.nn.functional.scaled_dot_product_attention("
    yield ("RuntimeError: MPS backend out of memory (MPS allocated: 7.23 GB, other allocations: 1.54 GB, max allowed: 9.07 GB). Tried to allocate "
           "896.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system "
           "failure).")


def error_npu():
    """torch_npu 2.1 (words of xingchensong/TouchNet issue 100): free blocks of the cache would do, in pieces."""
    yield ("RuntimeError: NPU out of memory. Tried to allocate 5.03 GiB (NPU 3; 60.96 GiB total capacity; 49.47 GiB already allocated; 49.47 GiB "
           "current active; 1.32 GiB free; 57.55 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting "
           "max_split_size_mb to avoid fragmentation.")


def error_async():
    """cudaMallocAsync, torch 2.x, c10/cuda/CUDAMallocAsyncAllocator.cpp; the limit of 2^64 bytes is none."""
    yield "torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)"
    yield "Currently allocated     : 23.09 GiB"
    yield "Requested               : 1.50 GiB"
    yield "Device limit            : 23.99 GiB"
    yield "Free (according to CUDA): 0 bytes"
    yield "PyTorch limit (set by user-supplied memory fraction)"
    yield "                        : 17179869184.00 GiB"


def error_ranks():
    """Two ranks at once under torchrun, their tracebacks line by line in turn; each says it in a bare line once more."""
    yield "[rank0]: Traceback (most recent call last):"
    yield "[rank1]: Traceback (most recent call last):"
    yield '[rank0]:   File "/home/you/train.py", line 120, in main'
    yield '[rank1]:   File "/home/you/train.py", line 133, in main'
    yield '[rank0]:     loss = step(batch)'
    yield '[rank0]:   File "/home/you/model.py", line 64, in step'
    yield '[rank1]:     loss.backward()'
    yield '[rank0]:   File "/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py", line 2905, in layer_norm'
    yield '[rank1]:   File "/opt/venv/lib/python3.12/site-packages/torch/_tensor.py", line 648, in backward'
    for rank, asked, free in ((0, "256.00 MiB", "198.44 MiB"), (1, "512.00 MiB", "61.31 MiB")):
        yield (f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked}. GPU {rank} has a total capacity of 79.10 GiB of "
               f"which {free} is free. Including non-PyTorch memory, this process has 78.80 GiB memory in use. Of the allocated memory 75.25 GiB is "
               "allocated by PyTorch, and 1.75 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
               "PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.")
    yield "[rank1]: RuntimeError: CUDA error: out of memory"


def error_bare():
    """torch 1.0: nothing but the error."""
    yield "THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=405 error=2 : out of memory"
    yield "RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/THCGeneral.cpp:405"


# ---- what servers say when they start ----


def server_vllm():
    """vLLM 0.8, vllm/worker/worker.py and model_runner.py."""
    yield "INFO 04-12 08:21:00 [model_runner.py:1146] Model loading took 21.2103 GiB and 12.1 seconds"
    yield "INFO 04-12 08:21:19 [worker.py:267] Memory profiling takes 17.56 seconds"
    yield ("INFO 04-12 08:21:19 [worker.py:267] the current vLLM instance can use total_gpu_memory (23.58GiB) x gpu_memory_utilization (0.99) = "
           "23.35GiB")
    yield ("INFO 04-12 08:21:19 [worker.py:267] model weights take 21.21GiB; non_torch_memory takes 0.20GiB; PyTorch activation peak memory takes "
           "0.37GiB; the rest of the memory reserved for KV Cache is 1.57GiB.")
    yield "INFO 04-12 08:21:40 [model_runner.py:1592] Graph capturing finished in 19 secs, took 0.21 GiB"


def server_sglang():
    """SGLang 0.5, python/sglang/srt/model_executor/model_runner.py."""
    yield "[2025-11-30 12:50:02] Load weight begin. avail mem=78.50 GB"
    yield "[2025-11-30 12:50:09] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.27 GB, mem usage=14.98 GB."
    yield "[2025-11-30 12:50:10] KV Cache is allocated. #tokens: 367404, K size: 8.23 GB, V size: 8.23 GB"
    yield "[2025-11-30 12:50:10] Memory pool end. avail mem=40.03 GB"
    yield "[2025-11-30 12:50:15] Capture cuda graph end. Time elapsed: 5.37 s. mem usage=1.44 GB. avail mem=38.05 GB."


# ---- levels of tools and projects, one form each ----


def hf_trainer():
    """transformers 4.x, Trainer.log_metrics after --skip_memory_metrics False (trainer_utils.py, TrainerMemoryTracker)."""
    yield "***** train metrics *****"
    for name, value in (("before_init_mem_gpu", "0MB"), ("epoch", "1.0"), ("init_mem_gpu_alloc_delta", "230MB"), ("init_mem_gpu_peaked_delta", "0MB"),
                        ("train_loss", "0.4324"), ("train_mem_gpu_alloc_delta", "693MB"), ("train_mem_gpu_peaked_delta", "4660MB"), ("train_runtime", "0:00:11.58")):
        yield f"  {name:<26} = {value:>10}"
    yield "***** eval metrics *****"
    yield "  eval_mem_gpu_alloc_delta   =       -3MB"
    yield "  eval_mem_gpu_peaked_delta  =      299MB"


def hf_trainer_dict():
    """The same as TrainOutput prints it, in bytes."""
    yield ("{'train_runtime': 143.6704, 'train_loss': 1.2927, 'init_mem_gpu_alloc_delta': 0, 'init_mem_gpu_peaked_delta': 0, "
           "'train_mem_gpu_alloc_delta': 126487040, 'train_mem_gpu_peaked_delta': 11016635392, 'before_init_mem_gpu': 4747206656, 'epoch': 0.04}")


def hf_trainer_changes():
    """The same of 4.5 to 4.11, which did not print what was there before: no level."""
    yield "  init_mem_gpu_alloc_delta   =      230MB"
    yield "  train_mem_gpu_alloc_delta  =      693MB"
    yield "  train_mem_gpu_peaked_delta =        7MB"


def nemo():
    """NeMo 2.0, MegatronParallel's step with NEMO_LOG_MEMORY_USAGE=1: the peak is max_memory_reserved()."""
    yield ("Training epoch 0, iteration 9/49 | lr: 1.5e-05 | global_batch_size: 512 | global_step: 9 | peak_memory_usage: 66022539264 | "
           "memory_allocated: 42949672960 | reduced_train_loss: 11.03 | train_step_timing in s: 4.3")


def megatron_bridge():
    """Megatron-Bridge 0.3, train_utils.py, report_memory; its gigabytes are 10^9 bytes."""
    for rank, figures in ((1, ("63.66", "182.2", "153.4", "182.2")), (2, ("61.881", "182.24", "153.47", "182.24"))):
        yield (f"[Rank {rank}] (after 2 iterations) memory (GB) | mem-allocated-gigabytes: {figures[0]} | mem-active-gigabytes: {figures[0]} | "
               f"mem-inactive-gigabytes: 20.563 | mem-reserved-gigabytes: {figures[1]} | mem-max-allocated-gigabytes: {figures[2]} | "
               f"mem-max-active-gigabytes: 169.96 | mem-max-reserved-gigabytes: {figures[3]} | mem-alloc-retires: 0 | mem-allocated-count: 507")


def verl():
    """verl 0.3, verl/utils/debug/performance.py, log_gpu_memory_usage, and a line of its metrics."""
    yield "(WorkerDict pid=11) INFO:2025-03-10 10:00:00,123:After init, memory allocated (GB): 14.19, memory reserved (GB): 16.04, device memory used/total (GB): 18.40/79.15"
    yield "(TaskRunner pid=1) step:1 - perf/max_memory_allocated_gb:45.236 - perf/max_memory_reserved_gb:58.457 - actor/lr:1e-06"


def axolotl():
    """axolotl 0.4 to 0.9, utils/bench.py, log_gpu_memory_usage; the cache and the rest come on top."""
    yield "[2024-01-10 12:00:00,123] [INFO] [axolotl.load_model:500] [PID:12] [RANK:0] GPU memory usage after model load: 7.565GB (+0.126GB cache, +0.788GB misc)"
    yield "[2024-01-10 12:01:00,456] [INFO] [axolotl.train_log:61] [PID:12] [RANK:0] cuda:0 memory usage while training: 9.120GB (+12.504GB cache, +0.788GB misc)"


def trl():
    """axolotl 0.10 and TRL's callbacks, a dict of the Trainer with the unit in the key."""
    yield "{'loss': 1.2, 'memory/max_mem_active(gib)': 21.34, 'memory/max_mem_allocated(gib)': 21.34, 'memory/device_mem_reserved(gib)': 25.41, 'epoch': 0.03}"


def lightning():
    """Lightning 2.x: DeviceStatsMonitor's memory_stats() by CSVLogger or print, and the examples' CUDACallback."""
    yield ("DeviceStatsMonitor.on_train_batch_start/allocated_bytes.all.current=11934720, DeviceStatsMonitor.on_train_batch_start/allocated_bytes.all.peak=21934592, "
           "DeviceStatsMonitor.on_train_batch_start/reserved_bytes.all.current=41943040")
    yield "Average Epoch time: 12.53 seconds"
    yield "Average Peak memory 5123.24MiB"


def rocm_smi():
    """rocm-smi --showmeminfo vram, ROCm 5 and 6."""
    yield "================================ Memory Usage (Bytes) ================================"
    for gpu, used in ((0, 12863091968), (1, 10850304)):
        yield f"GPU[{gpu}]\t\t: VRAM Total Memory (B): 17163091968"
        yield f"GPU[{gpu}]\t\t: VRAM Total Used Memory (B): {used}"


def npu_smi():
    """npu-smi info, 23.0."""
    yield "| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|"
    yield "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |"
    for npu, bus, used in ((0, "C1", "3352 /"), (1, "C2", "61223/")):
        yield f"| {npu}     910B3               | OK            | 93.7        36                0    / 0             |"
        yield f"| 0                         | 0000:{bus}:00.0  | 0           0    / 0          {used} 65536         |"


def torchtitan_warnings():
    """torchtitan 0.1 and 0.2, metrics.py, beside its steps."""
    yield "[rank0]:[titan] 2026-11-22 10:00:00,120 - root - INFO - CUDA capacity: NVIDIA H100 with 95.00GiB memory"
    yield "[rank0]:[titan] 2026-11-22 10:00:05,120 - root - INFO - step:  1  loss: 12.2  memory:  1.61GiB(1.70%)  tps: 5,000"
    yield "[rank0]:[titan] 2026-11-22 10:00:05,121 - root - WARNING - 3 CUDA memory allocation retries."
    yield "[rank0]:[titan] 2026-11-22 10:00:05,121 - root - WARNING - 1 CUDA OOM errors thrown."


def time_v():
    """/usr/bin/time -v, GNU time 1.9."""
    yield '\tCommand being timed: "python train.py"'
    yield "\tMaximum resident set size (kbytes): 5123456"
    yield "\tAverage resident set size (kbytes): 0"


def cgmemtime():
    """cgmemtime 1.x."""
    yield "child_RSS_high:     10752 KiB"
    yield "group_mem_high:      1512 KiB"


def kill_kernel():
    """Linux 5.4 to 6.x, mm/memcontrol.c and mm/oom_kill.c."""
    yield "[1234.890123] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=985"
    yield "[1234.890200] memory: usage 16777216kB, limit 16777216kB, failcnt 12345"
    yield "[1234.890202] kmem: usage 12345kB, limit 9007199254740988kB, failcnt 0"
    yield "[1234.890303] oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/kubepods/burstable/pod1,task_memcg=/kubepods/burstable/pod1/a,task=python,pid=123,uid=0"
    yield "[1234.890304] Memory cgroup out of memory: Killed process 123 (python) total-vm:49382712kB, anon-rss:16720000kB, file-rss:65536kB, shmem-rss:0kB, UID:0"
    yield "[1234.890305] oom_reaper: reaped process 123 (python), now anon-rss:0kB, file-rss:65536kB, shmem-rss:0kB"


# ---- errors: more ----


def error_npu_workspace():
    """torch_npu 2.5 and later, NPUWorkspaceAllocator.cpp."""
    yield ("[rank0]:[E107 02:38:42.269390205 compiler_depend.ts:444] NPU out of memory. NPUWorkspaceAllocator tried to allocate 180.00 MiB(NPU 0; 60.96 GiB total "
           "capacity; 89.51 MiB free). If you want to reduce memory usage, take a try to set the environment variable TASK_QUEUE_ENABLE=1.")


def error_comfy():
    """ComfyUI's words of torch.OutOfMemoryError with cudaMallocAsync."""
    yield '  File "/home/you/ComfyUI/execution.py", line 349, in execute'
    yield "torch.OutOfMemoryError: Allocation on device "


def server_vllm_v1():
    """vLLM 0.11, vllm/v1/worker/gpu_worker.py."""
    yield ("(EngineCore_DP0 pid=1234) INFO 10-02 10:00:00 [gpu_worker.py:391] Free memory on device (78.68/79.19 GiB) on startup. Desired GPU memory utilization is "
           "(0.9, 71.27 GiB). Actual usage is 14.99 GiB for weight, 5.64 GiB for peak activation, 0.09 GiB for non-torch memory, and 0.55 GiB for CUDAGraph memory. "
           "Replace gpu_memory_utilization config with `--kv-cache-memory=53451264000` (49.78 GiB) to fit into requested memory, or `--kv-cache-memory=61408150528` "
           "(57.19 GiB) to fully utilize gpu memory. Current kv cache memory in use is 50.55 GiB.")


def server_vllm_refused():
    """vLLM 0.11, the same place: too little was free."""
    yield ("ValueError: Free memory on device (3.21/23.64 GiB) on startup is less than desired GPU memory utilization (0.9, 21.28 GiB). Decrease GPU memory "
           "utilization or reduce GPU memory used by other processes.")


LOGS = tuple(log for log in list(globals().values()) if inspect.isgeneratorfunction(log))


def forms():
    """Name and text of each form of log_forms.py, by the place where it was seen."""
    names = {}
    for place, text, _ in PASTED:
        name = re.sub(r"[^a-z0-9]+", "_", place.lower().removeprefix("github.com/")).strip("_")[:60]
        names[name] = names.get(name, 0) + 1
        yield name + (f"_{names[name]}" if names[name] > 1 else ""), text


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for log in LOGS:
        (folder / f"log_{log.__name__}.log").write_text("".join(line + "\n" for line in log()), encoding="utf-8")
    (folder / "forms").mkdir(exist_ok=True)
    for name, text in forms():
        (folder / "forms" / f"{name}.log").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
