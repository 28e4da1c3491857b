#!/usr/bin/env python3
"""Excerpts of logs, written anew in the words of threads in issues, with what a person reads in each; and ordinary lines of
training logs, of which nothing may be read.

    STRATA=path/to/strata log_wild_test.py
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import log_ordinary  # noqa: E402
from log_threads import THREADS  # noqa: E402

STRATA = os.environ.get("STRATA", "build/release/strata")
TIMEOUT_S = 60

C="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {} of which {} is free. Including non-PyTorch memory, this process has {} memory in use. Of the allocated memory {} is allocated by PyTorch, and {} is reserved by PyTorch but unallocated."
H=" If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
G=1<<30;M=1<<20
def oom(cause,asked=None,says='',dev=0,n=1,site=None,sev='high'): return dict(oom=cause,asked=asked,says=says,dev=dev,n=n,site=site,sev=sev)
def lev(dev=0,**k): return dict(lev=k,dev=dev)
def bud(dev=0,**k): return dict(bud=k,dev=dev)
R=dict(refused=True)


E=[
("pytorch plain",C.format("3.20 GiB",1,"79.25 GiB","1.10 GiB","78.14 GiB","70.00 GiB","7.40 GiB")+H,oom('not_contiguous',int(3.2*G),'expandable_segments:True in PYTORCH_ALLOC_CONF',1)),
("verl rank ray","(WorkerDict pid=3344) [rank2]: "+C.format("12.00 GiB",2,"79.15 GiB","2.00 GiB","77.15 GiB","75.00 GiB","800.00 MiB")+H,oom('in_use',12*G,'only using less helps',2)),
("verl vllm","(TaskRunner pid=12) ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.actor_rollout_generate_sequences() (pid=77)\n"+C.format("1.00 GiB",0,"39.49 GiB","500.00 MiB","38.90 GiB","30.00 GiB","200.00 MiB"),oom('in_use',G)),
("kaggle T4 old","OutOfMemoryError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; 14.75 GiB total capacity; 13.06 GiB already allocated; 30.81 MiB free; 13.70 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF",oom('not_contiguous',384*M,'max_split_size_mb in PYTORCH_CUDA_ALLOC_CONF')),
("windows path",'Traceback (most recent call last):\n  File "D:\\proj\\train.py", line 9, in main\n    x()\n'+C.format("64.00 MiB",0,"8.00 GiB","0 bytes","14.30 GiB","13.00 GiB","600.00 MiB")+H,dict(oom='not_contiguous',asked=64*M,nosetting=True,dev=0,n=1,sev='high')),
("already on","export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"+C.format("2.00 GiB",0,"79.25 GiB","1.00 GiB","78.00 GiB","70.00 GiB","7.00 GiB")+H,dict(oom='not_contiguous',asked=2*G,nosetting=True,dev=0,n=1,sev='high')),
("others listed","torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has a total capacity of 47.53 GiB of which 200.00 MiB is free. Process 1188 has 30.10 GiB memory in use. Including non-PyTorch memory, this process has 17.20 GiB memory in use. Of the allocated memory 16.00 GiB is allocated by PyTorch, and 700.00 MiB is reserved by PyTorch but unallocated.",oom('in_use',896*M,'Other processes hold 30.1 GiB')),
("2.13 retry","[rank1]:[W910 23:40:43.144601916 CUDACachingAllocator.cpp:3933] Warning: memory allocation failed with OOM on device 1 while trying to allocate 7516192768 bytes (free: 1547173888, total: 191495471104). (function malloc)",oom('in_use',7516192768,'tried again',1,sev='low')),
("fraction","torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB of which 60.00 GiB is free. 15.85 GiB allowed; Of the allocated memory 15.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.",oom('limit',2*G,'15.8 GiB at most')),
("cuda error","RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1",oom('unknown')),
("accelerator error","torch.AcceleratorError: CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in https://docs.nvidia.com",oom('unknown')),
("cublas",'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`',oom('unknown')),
("cudnn","RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED",oom('unknown')),
("nccl","ncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'",oom('unknown')),
("xpu","torch.OutOfMemoryError: XPU out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 15.56 GiB. Of the allocated memory 13.20 GiB is allocated by PyTorch, and 900.00 MiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",oom('unknown',int(1.5*G))),
("npu","RuntimeError: NPU out of memory. Tried to allocate 448.00 MiB (NPU 3; 60.96 GiB total capacity; 57.00 GiB already allocated; 57.00 GiB current active; 210.00 MiB free; 58.80 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",oom('not_contiguous',448*M,'PYTORCH_NPU_ALLOC_CONF',3)),
("mps","RuntimeError: MPS backend out of memory (MPS allocated: 17.80 GB, other allocations: 384.00 KB, max allowed: 18.13 GB). Tried to allocate 1.20 GB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).",oom('limit',int(1.2*G),'WATERMARK')),
("mps buffer","RuntimeError: Invalid buffer size: 26.22 GiB",oom('unknown',int(26.22*G))),
("hip","torch.OutOfMemoryError: HIP out of memory. Tried to allocate 128.00 MiB. GPU 5 has a total capacity of 63.98 GiB of which 90.00 MiB is free. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated.",oom('not_contiguous',128*M,'PYTORCH_HIP_ALLOC_CONF',5)),
("vllm start","(EngineCore_0 pid=41) ValueError: Free memory on device (11.2/23.68 GiB) on startup is less than desired GPU memory utilization (0.9, 21.31 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",oom('in_use',int(21.31*G),'lower it')),
("vllm npu","ValueError: Free memory on device npu:0 (20.1/60.97 GiB) on startup is less than desired GPU memory utilization (0.9, 54.87 GiB).",oom('in_use',int(54.87*G),'lower it')),
("vllm kv","ValueError: To serve at least one request with the models's max seq len (40960), (5.62 GiB KV cache is needed, which is larger than the available KV cache memory (3.10 GiB). Based on the available memory, the estimated maximum model length is 22592. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",oom('limit',int(5.62*G),'lower max_model_len')),
("vllm blocks","ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",oom('unknown',None,'smaller model')),
("vllm warm","RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",oom('unknown',None,'max_num_seqs')),
("sglang","RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: self.server_args.mem_fraction_static=0.8",oom('unknown',None,'mem_fraction_static')),
("vllm budget","INFO 07-12 02:35:20 [gpu_model_runner.py:2007] Model loading took 15.27 GiB and 12.3 seconds\nINFO 07-12 02:35:26 [gpu_model_runner.py:6639] Estimated CUDA graph memory: 1.58 GiB total\nINFO 07-12 02:35:26 [gpu_worker.py:538] Available KV cache memory: 10.29 GiB\nINFO 07-12 02:35:27 [kv_cache_utils.py:829] GPU KV cache size: 331,584 tokens\nINFO 07-12 02:35:40 [gpu_model_runner.py:2600] Graph capturing finished in 7 secs, took 1.29 GiB",bud(weights=int(15.27*G),graphs_planned=int(1.58*G),kv_cache=int(10.29*G),tokens=331584,graphs=int(1.29*G))),
("vllm v0","INFO 03-02 10:00:00 worker.py:267] the current vLLM instance can use total_gpu_memory (79.15GiB) x gpu_memory_utilization (0.90) = 71.23GiB\nINFO 03-02 10:00:00 worker.py:267] model weights take 14.99GiB; non_torch_memory takes 0.15GiB; PyTorch activation peak memory takes 1.26GiB; the rest of the memory reserved for KV Cache is 54.83GiB.",bud(total=int(79.15*G),usable=int(71.23*G),weights=int(14.99*G),non_torch=int(.15*G),activations=int(1.26*G),kv_cache=int(54.83*G))),
("vllm pool","(EngineCore pid=9) INFO 08-02 [gpu_worker.py:625] CUDA graph pool memory: 0.55 GiB (actual), 0.61 GiB (estimated), difference: 0.06 GiB (10.9%).",bud(graphs=int(.55*G),graphs_planned=int(.61*G))),
("vllm sleep","INFO 05-06 20:59:59 [gpu_worker.py:103] Sleep mode freed 71.25 GiB memory, 1.38 GiB memory is still in use.\nINFO 05-06 21:00:00 [executor_base.py:187] It took 2.756636 seconds to fall asleep.",lev(device=int(1.38*G))),
("sglang budget","[2025-06-01 10:00:00 TP0] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=61.10 GB, mem usage=15.30 GB.\n[2025-06-01 10:00:01 TP0] KV Cache is allocated. #tokens: 367404, K size: 25.23 GB, V size: 25.23 GB\n[2025-06-01 10:00:09 TP0] Capture cuda graph end. Time elapsed: 8.1 s. mem usage=1.44 GB. avail mem=8.60 GB.",bud(weights=int(15.3*G),kv_cache=2*int(25.23*G),tokens=367404,graphs=int(1.44*G),available=int(8.6*G))),
("sglang max tokens","[2025-06-01 10:00:10] max_total_num_tokens=367404, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=4096, context_len=40960, available_gpu_mem=8.60 GB",bud(tokens=367404,available=int(8.6*G))),
("deepspeed","[2024-05-01 10:00:00,123] [INFO] [utils.py:781:see_memory_usage] Before creating fp16 partitions\n[2024-05-01 10:00:00,124] [INFO] [utils.py:782:see_memory_usage] MA 13.2 GB         Max_MA 17.6 GB         CA 20.1 GB         Max_CA 20 GB \n[2024-05-01 10:00:00,125] [INFO] [utils.py:789:see_memory_usage] CPU Virtual Memory:  used = 112.46 GB, percent = 22.3%",lev(allocated=int(13.2*G),reserved=int(20.1*G))),
("stas","MA 2.0 GB | Max_MA 3.0 GB | CA 4.0 GB | Max_CA 4.0 GB | NV 5.5 GB | CPU mem: proc 0.51 GiB / node 84.09 GiB (4.2%)",lev(allocated=2*G,device=int(5.5*G))),
("megatron","[Rank 0] (after 2 iterations) memory (MB) | allocated: 30321.5 | max allocated: 42010.2 | reserved: 44008.0 | max reserved: 44008.0",lev(allocated=int(30321.5*M),reserved=44008*M)),
("megatron rank8"," [Rank 8] (after 2 iterations) memory (MB) | allocated: 100.0 | max allocated: 200.0 | reserved: 300.0 | max reserved: 300.0",lev(8,allocated=100*M)),
("titan","[rank0]:[titan] 2025-02-01 10:00:00,000 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  7.1234  \x1b[38;2;180;60;0mgrad_norm:  1.2000  \x1b[33mmemory: 47.61GiB(59.98%)  \x1b[34mtps: 3,502  \x1b[36mtflops: 200.1  \x1b[35mmfu: 20.3%\x1b[39m",lev(reserved=int(47.61*G))),
("nemo","Training epoch 0, iteration 3/99 | lr: 1e-5 | global_batch_size: 8 | global_step: 3 | max_memory_reserved: 57466159104 | max_memory_allocated: 53930270720 | reduced_train_loss: 10.22",lev(allocated=53930270720,reserved=57466159104)),
("verl","(WorkerDict pid=5) INFO:2025-05-01 10:00:00,1:After init actor, memory allocated (GB): 7.25, memory reserved (GB): 9.50, device memory used/total (GB): 12.75/79.15",lev(allocated=int(7.25*G),reserved=int(9.5*G),device=int(12.75*G))),
("verl step","(TaskRunner pid=1) step:3 - actor/loss:0.1 - perf/max_memory_allocated_gb:45.25 - perf/max_memory_reserved_gb:58.5 - perf/cpu_memory_used_gb:120.5",lev(allocated=int(45.25*G),reserved=int(58.5*G))),
("axolotl","{'loss': 1.2, 'grad_norm': 0.5, 'learning_rate': 1e-5, 'memory/max_mem_active(gib)': 20.5, 'memory/max_mem_allocated(gib)': 20.25, 'memory/device_mem_reserved(gib)': 25.5, 'epoch': 0.1}",lev(allocated=int(20.25*G),reserved=int(25.5*G))),
("axolotl new","{'loss': 1.2, 'memory/max_active (GiB)': 20.5, 'memory/max_allocated (GiB)': 20.25, 'memory/device_reserved (GiB)': 25.5, 'epoch': 0.1}",lev(allocated=int(20.25*G),reserved=int(25.5*G))),
("hf tracker","***** train metrics *****\n  before_init_mem_gpu            =        0MB\n  init_mem_gpu_alloc_delta       =      230MB\n  init_mem_gpu_peaked_delta      =        0MB\n  train_mem_gpu_alloc_delta      =      693MB\n  train_mem_gpu_peaked_delta     =     4660MB",lev(allocated=923*M)),
("lightning stats","DeviceStatsMonitor.on_train_batch_end/allocated_bytes.all.current: 5368709120, DeviceStatsMonitor.on_train_batch_end/reserved_bytes.all.current: 6442450944",lev(allocated=5368709120,reserved=6442450944)),
("summary","|===========================================================================|\n|                  PyTorch CUDA memory summary, device ID 1                 |\n|---------------------------------------------------------------------------|\n|            CUDA OOMs: 1            |        cudaMalloc retries: 3         |\n|===========================================================================|\n|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n|---------------------------------------------------------------------------|\n| Allocated memory      |  20480 MiB |  30720 MiB | 999999 MiB | 979519 MiB |\n|       from large pool |  20480 MiB |  30720 MiB | 999999 MiB | 979519 MiB |\n| GPU reserved memory   |  40960 MiB |  40960 MiB |  40960 MiB |      0 B   |",lev(1,allocated=20480*M,reserved=40960*M)),
("inductor","Peak CUDA memory usage 1234.567 MB",lev(allocated=1234567000)),
("mem_get_info","torch.cuda.mem_get_info() = (8589934592, 25769803776)",lev(device=17179869184)),
("kernel","[12345.678901] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python,pid=991,uid=0\n[12345.678999] Memory cgroup out of memory: Killed process 991 (python) total-vm:200000000kB, anon-rss:67108864kB, file-rss:1000kB, shmem-rss:0kB, UID:0 pgtables:1000kB oom_score_adj:0",oom('unknown',None,'pid 991 (python)',-1)),
("slurm","slurmstepd: error: Detected 1 oom_kill event in StepId=123.0. Some of the step tasks have been OOM Killed.\nsrun: error: node01: task 2: Out Of Memory",oom('unknown',None,'Slurm killed',-1)),
("k8s","    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137",oom('unknown',None,'Kubernetes killed',-1)),
("k8s fine",'    "OOMKilled": false,\n    "ExitCode": 0',R),
("torchrun sigkill","torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n============================================================\ntrain.py FAILED\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n  time      : 2024-05-01_10:00:00\n  host      : node\n  rank      : 3 (local_rank: 3)\n  exitcode  : -9 (pid: 4455)\n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 4455",dict(oom='unknown',asked=None,says='SIGKILL',dev=-1,n=1,sev='medium')),
("dataloader","RuntimeError: DataLoader worker (pid 15876) is killed by signal: Killed. ",dict(oom='unknown',asked=None,says='pid 15876',dev=-1,n=1,sev='medium')),
("dataloader bus","RuntimeError: DataLoader worker (pid 325) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",oom('unknown',None,'/dev/shm',-1)),
("cpu alloc","RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 34359738368 bytes. Error code 12 (Cannot allocate memory)",oom('unknown',34359738368,'strata run',-1)),
("cpu windows","RuntimeError: [enforce fail at alloc_cpu.cpp:114] data. DefaultCPUAllocator: not enough memory: you tried to allocate 268435456 bytes.",oom('unknown',268435456,'strata run',-1)),
("numpy","numpy._core._exceptions._ArrayMemoryError: Unable to allocate 12.5 GiB for an array with shape (50000, 33554) and data type float64",oom('unknown',int(12.5*G),'strata run',-1)),
("fork","OSError: [Errno 12] Cannot allocate memory",oom('unknown',None,'strata run',-1)),
("ray","ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.1.1.1, ID: aa) where the task (task ID: bb, name=train_fn, pid=777, memory used=55.50GB) was running was 120.10GB / 125.80GB (0.954690), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: cc) because it was the most recently scheduled task",oom('unknown',None,'pid 777 (train_fn)',-1)),
("ray causes","(raylet) A worker died or was killed while executing a task by an unexpected system error. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage. (2) ray stop --force is called.",R),
("triton smem","triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",R),
("advice","If you run into CUDA out of memory errors, reduce the batch size or enable gradient checkpointing (out of memory is common on 24 GB cards).",R),
("smi","|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |\n| N/A   31C    P0             64W /  400W |   71234MiB /  81920MiB |      0%      Default |",lev(device=71234*M)),
("csv","timestamp, name, index, memory.used [MiB], memory.total [MiB]\n2025/01/01 10:00:00.000, NVIDIA A100, 3, 1024 MiB, 81920 MiB",lev(3,device=1024*M)),
("rocm","GPU[2]\t\t: VRAM Total Memory (B): 68702699520\nGPU[2]\t\t: VRAM Total Used Memory (B): 12345678848",lev(2,device=12345678848)),
("time","\tCommand being timed: \"python train.py\"\n\tMaximum resident set size (kbytes): 5123456",lev(-1,host=5123456*1024)),
("skipped batch",C.format("1.00 GiB",0,"79.25 GiB","500.00 MiB","78.00 GiB","77.00 GiB","100.00 MiB")+"\nWARNING: OOM, skipping batch 17\n[Rank 0] (after 18 iterations) memory (MB) | allocated: 100 | max allocated: 200 | reserved: 300 | max reserved: 300",dict(oom='in_use',asked=G,says='',dev=0,n=1,sev='low')),
("two ranks","[rank0]: "+C.format("1.00 GiB",0,"79.25 GiB","500.00 MiB","78.00 GiB","77.00 GiB","100.00 MiB")+"\n[rank1]: "+C.format("1.00 GiB",1,"79.25 GiB","400.00 MiB","78.00 GiB","77.00 GiB","100.00 MiB"),oom('in_use',G,dev=1)),
("habana","RuntimeError: [Rank:0] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::536870912 (512)MB",oom('unknown',536870912)),
("hf bs","The following columns were ignored. CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 9.71 GiB already allocated; 5.56 MiB free; 9.86 GiB reserved in total by PyTorch)",oom('not_contiguous',20*M)),
("twice in a second", "\n".join("2025-01-01 10:00:00 - app - ERROR - " + head + C.format("70.00 MiB",0,"8.00 GiB","20.00 MiB","7.90 GiB","7.50 GiB","50.00 MiB")[len("torch.OutOfMemoryError: "):] for head in ("Failed: a - ", "Failed to process a: ")),oom('in_use',70*M)),
("VS Code",'Exception has occurred: OutOfMemoryError\n'+C.format("90.00 MiB",0,"8.00 GiB","20.00 MiB","3.00 GiB","2.50 GiB","10.00 MiB")[len("torch.OutOfMemoryError: "):]+'\n  File "/app/layers.py", line 30, in forward\n    x\n  File "/app/train.py", line 10, in <module>\n    y',oom('in_use',90*M,'layers.py:30 forward')),
("free above the total","torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 16.00 GiB of which 80.00 GiB is free. Of the allocated memory 13.00 GiB is allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated.",oom('unknown',2*G,'cannot be right')),
("async","torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 10.00 GiB\nRequested               : 1.00 GiB\nDevice limit            : 12.00 GiB\nFree (according to CUDA): 0 bytes\nPyTorch limit (set by user-supplied memory fraction)\n                        : 17179869184.00 GiB",oom('in_use',G,'backend:native')),
("outside of PyTorch","RuntimeError: CUDA out of memory. Tried to allocate 70.00 MiB (GPU 0; 8.00 GiB total capacity; 80.00 MiB already allocated; 20.00 MiB free; 90.00 MiB reserved in total by PyTorch)",oom('in_use',70*M,"outside of this process's PyTorch")),
("full",C.format("2.00 MiB",0,"80.00 GiB","1.00 MiB","79.50 GiB","78.50 GiB","3.00 MiB")+H,oom('in_use',2*M,'the device is full')),
("a shell and Slurm","/var/spool/job1/slurm_script: line 7:  4242 Killed                  python3 train.py\nslurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch cgroup.",oom('unknown',None,'pid 4242 (python3 train.py)',-1)),
("Ray's table","Memory on the node (IP: 10.0.0.1, ID: a) where the task (actor ID: d, name=W.__init__, pid=600, memory used=2.00GB) was running was 60.00GB / 62.00GB (0.967), which exceeds the memory usage threshold of 0.95.\nTop 10 memory users:\nPID\tMEM(GB)\tCOMMAND\n501\t40.00\tpython prepare.py\n600\t2.00\tray::W",oom('unknown',None,'40.0 GiB, were held by pid 501 (python prepare.py)',-1)),
("out of resources","RuntimeError: level_zero backend failed with error: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)",dict(oom='unknown',asked=None,says='which of them is not known',dev=0,n=1,sev='medium')),
]

class WildTest(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "a.log"

    def run_report(self, text):
        self.path.write_text(text, encoding="utf-8")
        return subprocess.run([STRATA, "report", "--json", self.path], capture_output=True, timeout=TIMEOUT_S)

    def assert_error(self, device, want):
        ooms = device["oom_details"]
        finding = next(each for each in device["findings"] if each["kind"] == "out_of_memory")
        told = finding["title"] + " " + finding["detail"]
        self.assertEqual((ooms[-1]["cause"], len(ooms), finding["severity"]), (want["oom"], want["n"], want["sev"]), told)
        if want["asked"] is not None:
            self.assertLessEqual(abs(ooms[-1]["requested_bytes"] - want["asked"]), 1)
        self.assertIn(want.get("says", ""), told)
        if want.get("nosetting"):
            self.assertNotIn("may help", told)
            self.assertIsNone(ooms[-1]["setting"])

    def test_excerpts_are_told_as_a_person_reads_them(self):
        self.assertGreaterEqual(len(E), 60)
        for name, text, want in E:
            with self.subTest(name):
                done = self.run_report(text + "\n")
                self.assertEqual(done.returncode, 1 if "refused" in want else 0, done.stderr.decode())
                if "refused" in want:
                    continue
                device = {each["device"]: each for each in json.loads(done.stdout)["devices"]}[want["dev"]]
                for level, nbytes in want.get("lev", {}).items():
                    self.assertLessEqual(abs(device["levels"][level]["last_bytes"] - nbytes), 1, level)
                if "bud" in want:
                    budget = {row["name"]: row.get("bytes", row.get("tokens")) for row in device["budget"]}
                    self.assertEqual(set(budget), set(want["bud"]))
                    self.assertTrue(all(abs(budget[part] - want["bud"][part]) <= 1 for part in budget), budget)
                if "oom" in want:
                    self.assert_error(device, want)

    def levels_of(self, device, name):
        level = device["levels"][name]
        return level and [level[key] for key in ("first_bytes", "peak_bytes", "last_bytes")]

    def assert_figures(self, device, want):
        ooms = [(oom["cause"], oom["requested_bytes"]) for oom in device["oom_details"]]
        self.assertEqual([cause for cause, _ in ooms], [cause for cause, _ in want.get("oom", ())])
        for (_, asked), (_, wanted) in zip(ooms, want.get("oom", ())):
            self.assertAlmostEqual(asked or 0, wanted or 0, delta=(wanted or 0) >> 12)
        for name in ("allocated", "reserved", "device", "host"):
            if name in want or not ooms:
                wanted = want.get(name)
                wanted = [wanted] * 3 if isinstance(wanted, int) else wanted and list(wanted)
                for have, figure in zip(self.levels_of(device, name) or [None], wanted or [None]):
                    self.assertAlmostEqual(have or 0, figure or 0, delta=2, msg=name)
        budget = {row["name"]: row.get("bytes", row.get("tokens")) for row in device["budget"] or ()}
        self.assertEqual({part: nbytes + 1 >> 1 for part, nbytes in budget.items()}, {part: nbytes + 1 >> 1 for part, nbytes in want.get("budget", {}).items()})
        if "capacity" in want:
            self.assertAlmostEqual(device["levels"]["capacity_bytes"], want["capacity"], delta=2)

    def test_threads_are_told_as_a_person_reads_them(self):
        self.assertGreaterEqual(len(THREADS), 80)
        for name, text, wanted in THREADS:
            with self.subTest(name):
                done = self.run_report(text + "\n")
                self.assertEqual(done.returncode, 1 if wanted is None else 0, done.stdout[-2000:] + done.stderr)
                devices = {} if wanted is None else {device["device"]: device for device in json.loads(done.stdout)["devices"]}
                self.assertEqual(set(devices), set(wanted or {}))
                for number, want in (wanted or {}).items():
                    device = devices[number]
                    self.assert_figures(device, want)
                    told = " ".join(finding["title"] + ". " + finding["detail"] for finding in device["findings"])
                    for words in want.get("says", ()):
                        self.assertIn(words, told)
                    for words in want.get("never", ()):
                        self.assertNotIn(words, told)
                    severities = [finding["severity"] for finding in device["findings"] if finding["kind"] == "out_of_memory"]
                    self.assertEqual(severities, [want["severity"]] if "severity" in want else severities)
                    self.assertEqual([phase["name"] for phase in device["phases"]], want.get("phases", [phase["name"] for phase in device["phases"]]))
                    self.assertEqual([oom["site"] for oom in device["oom_details"]], want.get("sites", [oom["site"] for oom in device["oom_details"]]))

    def test_nothing_is_read_of_ordinary_lines(self):
        ordinary = log_ordinary.lines()
        self.assertEqual((len(ordinary), sum(map(len, ordinary.values()))), (10, 2000))
        for framework, written in ordinary.items():
            with self.subTest(framework):
                done = self.run_report("\n".join(written) + "\n")
                self.assertEqual(done.returncode, 1, done.stdout[:800])
        lines = [line for written in ordinary.values() for line in written]
        level = "[Rank 0] (after 2 iterations) memory (MB) | allocated: 100 | max allocated: 200 | reserved: 300"
        device, = json.loads(self.run_report("\n".join(lines[:1000] + [level] + lines[1000:]) + "\n").stdout)["devices"]
        self.assertEqual((device["levels"]["lines"], device["levels"]["allocated"]["last_bytes"], device["oom"]), (1, 100 << 20, []))


if __name__ == "__main__":
    unittest.main()
