#!/usr/bin/env python3
"""Writes the sample logs, one per form that Strata reads; the same bytes every time.

    samples/logs.py [FOLDER]     into this folder, or into FOLDER

The forms are those of the projects that docs/inputs.md names; the runs are made up.
"""

import pathlib
import random
import sys

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


def accelerate():
    """TorchTracemalloc of Accelerate's and PEFT's examples around three epochs; the second one frees more than it makes."""
    for epoch, (begin, used, peaked) in enumerate(((2811, 1406, 9120), (4217, -12, 7714), (4205, 0, 7726))):
        yield f"epoch {epoch}: {{'accuracy': 0.7{epoch}, 'f1': 0.81{epoch}}}"
        yield f"Memory before entering the train : {begin}"
        yield f"Memory consumed at the end of the train (end-begin): {used}"
        yield f"Peak Memory consumed during the train (max-begin): {peaked}"
        yield f"Total Peak Memory consumed during the train (max): {peaked + begin}"
        yield "CPU Memory before entering the train : 3021"


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
    """Steps with ANSI colours: what is printed is the most that was reserved."""
    yield "[rank0]:[titan] 2026-11-22 10:00:00,120 - root - INFO - CUDA memory usage for model: 15.25GiB(19.28%)"
    for step in range(1, 13):
        used = 61.24 if step == 1 else 71.99
        yield (f"[rank0]:[titan] {clock(step * 5)},{step:03d} - root - INFO - \x1b[31mstep: {step:2}  \x1b[32mloss: {9 - 0.2 * step:7.4f}  "
               f"\x1b[38;2;180;60;0mgrad_norm: {2.5:7.4f}  \x1b[38;2;54;234;195mmemory: {used:5.2f}GiB"
               f"({100 * used / 79.1:.2f}%)  \x1b[34mtps: 3,502  \x1b[36mtflops: 301.90  \x1b[35mmfu: 30.53%\x1b[39m")
    yield (f"[rank0]:[titan] {clock(65)},013 - root - INFO - \x1b[33mvalidate step: 12  \x1b[32mloss:  6.5881  "
           f"\x1b[38;2;54;234;195mmemory: 58.20GiB(73.58%)  \x1b[34mtps: 9,120\x1b[39m")


def gpu_lines():
    """What people print themselves."""
    for epoch in range(5):
        for gpu in (0, 1):
            yield (f"{clock(epoch * 60)} GPU {gpu}: {10.5 + epoch * 0.5:.2f} GB allocated, {14.0 + epoch * 0.5:.2f} GB reserved, "
                   f"max allocated 13.75 GB")
    yield "Epoch 5 finished"
    yield "cuda:0 memory allocated: 512.0 MiB, memory reserved: 2.0 GiB"


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


def nvidia_smi_plain():
    """The same without a header."""
    for i in range(6):
        yield f"2026/11/22 10:00:{i * 5:02d}.100, 0, {1024 + 512 * i} MiB, 81559 MiB"


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


def error_xla():
    """JAX 0.4 on a GPU, with XLA's table of buffers."""
    yield ("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 29995136256 bytes.")
    yield "BufferAssignment OOM Debugging."
    yield "BufferAssignment stats:"
    yield "             parameter allocation:    7.78GiB"
    yield "              constant allocation:         0B"
    yield "        maybe_live_out allocation:  301.25MiB"
    yield "     preallocated temp allocation:   27.83GiB"
    yield "                 total allocation:   35.90GiB"
    yield "              total fragmentation:     5.5KiB (0.00%)"
    yield "Peak buffers:"
    yield "\tBuffer 1:"
    yield "\t\tSize: 3.83GiB"
    yield "\t\tShape: f32[250880,4096]"


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


LOGS = (deepspeed, arctic, accelerate, megatron, torchtitan, gpu_lines, oom_old, oom_cached, oom_allowed, oom_allowed_new, oom_new, oom_wrapped, memory_summary,
        nvidia_smi, nvidia_smi_plain, error_hip, error_xpu, error_xpu_large, error_mps, error_npu, error_async, error_xla, error_ranks, error_bare, server_vllm, server_sglang)


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for log in LOGS:
        (folder / f"log_{log.__name__}.log").write_text("".join(line + "\n" for line in log()), encoding="utf-8")


if __name__ == "__main__":
    main()
