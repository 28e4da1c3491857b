"""Forms of logs: what each says, read by a person. PASTED has lines as people paste them into issues and forums, in the words of the
place that is named, with figures of their own; logs.py writes a sample of each, and the tests and the fuzzers' seeds are made of them.

What is said is bytes of terms: a figure as it is printed, behind a stroke the unit that the text does not print beside it, " + " between several.
"""

HOST = -1

OLD = "CUDA out of memory. Tried to allocate {} (GPU {}; {} total capacity; {} already allocated; {} free; {} reserved in total by PyTorch)"
NEW = ("CUDA out of memory. Tried to allocate {}. GPU {} has a total capacity of {} of which {} is free. Of the allocated memory {} is allocated by PyTorch, "
       "and {} is reserved by PyTorch but unallocated.")

# Where the form was seen; text; and of each device: "oom" [(cause, asked, free, allocated, allowed)], levels [first, highest, last], "capacity",
# "budget", and "says", which stands in a finding. Bytes are such terms.
PASTED = (
    ("github.com/OPIXray-author/OPIXray/issues/5", '" ' + OLD.format("268.00 MiB", 0, "2.00 GiB", "781.50 MiB", "141.90 MiB", "1.01 GiB") + '"',
     {0: {"oom": [("in_use", "268.00 MiB", "141.90 MiB", "781.50 MiB")], "says": "Less was free than was requested"}}),
    ("github.com/pytorch/pytorch/issues/59778", "`" + OLD.format("2.21 GiB", 0, "6.00 GiB", "780.50 MiB", "3.04 GiB", "1.25 GiB") + " `",
     {0: {"oom": [("free_enough", "2.21 GiB", "3.04 GiB", "780.50 MiB")], "says": "As much was free as was"}}),
    ("github.com/wxian3/NeuroLens/issues/2", "torch.cuda.OutOfMemoryError: " + NEW.format("51.50 GiB", 0, "12.00 GiB", "9.03 GiB", "984.25 MiB", "463.25 MiB").replace("capacity", "capacty"),
     {0: {"oom": [("too_large", "51.50 GiB", "9.03 GiB", "984.25 MiB")], "says": "more than the whole device has"}}),
    ("github.com/carolchenyx/MGFN./issues/35", "torch.cuda.OutOfMemoryError: " + NEW.format("1.75 GiB", 0, "6.00 GiB", "0 bytes", "2.90 GiB", "2.25 GiB"),
     {0: {"oom": [("not_contiguous", "1.75 GiB", "0 bytes", "2.90 GiB")], "says": "expandable_segments:True in PYTORCH_CUDA_ALLOC_CONF"}}),
    ("github.com/shllln/GenerativeGraph/issues/5", "RuntimeError: CUDA out of memory. Tried to allocate 1024.00 KiB (GPU 0; 11.17 GiB total capacity; 10.80 GiB already allocated; 512.00 KiB free; 30.75 MiB cached)",
     {0: {"oom": [("not_contiguous", "1024.00 KiB", "512.00 KiB", "10.80 GiB")], "says": "but in no piece that would serve it."}}),
    ("github.com/levihsu/OOTDiffusion/issues/167", "when trying to python run.py i get this error: torch.cuda.OutOfMemoryError: " + NEW.format("2.25 GiB", 0, "4.00 GiB", "2.75 GiB", "0 bytes", "0 bytes"),
     {0: {"oom": [("free_enough", "2.25 GiB", "2.75 GiB", "0 bytes")]}}),
    ("github.com/NVIDIA/nccl/issues/1284", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.", {0: {"oom": [("too_large",)], "says": "More than 1 EiB"}}),
    ("github.com/pytorch/pytorch/issues/1829", "THCudaCheck FAIL file=/torch/lib/THC/generic/THCStorage.cu line=66 error=2 : out of memory\nRuntimeError: cuda runtime error (2) : out of memory at /torch/THCStorage.cu:66",
     {0: {"oom": [("unknown",)]}}),
    ("github.com/huggingface/text-generation-inference/issues/1374",
     "server-1  | 2023-12-22T00:21:35.318928Z ERROR batch{batch_size=1}:prefill:prefill{id=1 size=1}: text_generation_client: lib.rs:33: Server error: " + NEW.format("224.00 MiB", 0, "39.39 GiB", "216.90 MiB", "37.15 GiB", "1.55 GiB"),
     {0: {"oom": [("not_contiguous", "224.00 MiB", "216.90 MiB", "37.15 GiB")]}}),
    ("github.com/huggingface/text-generation-inference/issues/563",
     "thread 'main' panicked at 'Unable to warmup model: Generation(\"Allocation on device 0 would exceed allowed memory. (out of memory)\\nCurrently allocated     : 16.10 GiB\\nRequested               : 4.80 GiB\\n"
     "Device limit            : 22.25 GiB\\nFree (according to CUDA): 11.25 MiB\")', main.rs:216:18", {0: {"oom": [("in_use", "4.80 GiB", "11.25 MiB", "16.10 GiB")]}}),
    ("github.com/huggingface/text-generation-inference/issues/755", "RuntimeError: Not enough memory to handle 1024 prefill tokens. You need to decrease `--max-batch-prefill-tokens`", {0: {"oom": [("unknown",)]}}),
    ("github.com/vllm-project/vllm: worker.py", "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.", {0: {"oom": [("unknown",)]}}),
    ("github.com/Comfy-Org/ComfyUI/issues/4936", "    return tensor.to(device, copy=copy)\ntorch.OutOfMemoryError: Allocation on device \n\n2024-09-16 01:38:13,877 - root - ERROR - Got an OOM, unloading all loaded models.",
     {0: {"oom": [("unknown",)]}}),
    ("github.com/AUTOMATIC1111/stable-diffusion-webui: call_queue.py", "Time taken: 4.55sTorch active/reserved: 5910/6402 MiB, Sys VRAM: 8100/8192 MiB (98.9%)",
     {0: {"allocated": ("5910|MB",) * 3, "reserved": ("6402 MiB",) * 3, "device": ("8100|MB",) * 3, "capacity": "8192 MiB"}}),
    ("github.com/AUTOMATIC1111/stable-diffusion-webui: call_queue.py, 1.6", "Time taken: 12.1 sec. A: 3.25 GB, R: 4.20 GB, Sys: 6.3/12 GB (52.4%)",
     {0: {"allocated": ("3.25 GB",) * 3, "reserved": ("4.20 GB",) * 3, "device": ("6.3|GB",) * 3, "capacity": "12 GB"}}),
    ("github.com/ggml-org/llama.cpp/issues/20431", "load_tensors: loading model tensors, this can take a while... (mmap = true)\nggml_backend_cuda_buffer_type_alloc_buffer: allocating 144810.50 MiB on device 1: cudaMalloc failed: out of memory\n"
     "alloc_tensor_range: failed to allocate CUDA1 buffer of size 151844814848", {1: {"oom": [("unknown", "144810.50 MiB")]}}),
    ("github.com/ollama/ollama/issues/3711", "llm_load_tensors: ggml ctx size =    1.10 MiB\nllm_load_tensors:        CPU buffer size = 70750.50 MiB\nllm_load_tensors:      CUDA0 buffer size = 45460.25 MiB\nllm_load_tensors:      CUDA1 buffer size = 22730.25 MiB\n"
     "llama_kv_cache_init:      CUDA0 KV buffer size =   379.25 MiB\nllama_new_context_with_model:  CUDA_Host  output buffer size =     0.99 MiB\nllama_new_context_with_model:      CUDA0 compute buffer size =   560.00 MiB",
     {0: {"budget": {"weights": "45460.25 MiB", "kv_cache": "379.25 MiB", "activations": "560.00 MiB"}}, 1: {"budget": {"weights": "22730.25 MiB"}}}),
    ("github.com/ollama/ollama/issues/4427", 'time=2024-06-05T07:56:46.042Z level=INFO source=memory.go:133 msg="offload to gpu" layers.requested=-1 memory.available="22.5 GiB" memory.required.full="5.0 GiB" memory.required.kv="257.0 MiB" memory.weights.total="4.1 GiB" '
     'memory.weights.repeating="3.7 GiB" memory.graph.full="164.0 MiB" memory.graph.partial="677.5 MiB"', {0: {"budget": {"usable": "22.5 GiB", "kv_cache": "257.0 MiB", "weights": "4.1 GiB", "activations": "164.0 MiB"}}}),
    ("github.com/ollama/ollama/pull/11090", 'time=2025-07-18T14:51:00.217Z level=INFO source=ggml.go:365 msg="model weights" buffer=CUDA1 size="11.75 GiB"\ntime=2025-07-18T14:51:00.217Z level=INFO source=ggml.go:365 msg="model weights" buffer=CPU size="680.0 MiB"\n'
     'time=2025-07-18T14:51:00.217Z level=INFO source=ggml.go:365 msg="kv cache" device=CUDA1 size="1.5 GiB"', {1: {"budget": {"weights": "11.75 GiB", "kv_cache": "1.5 GiB"}}}),
    ("github.com/vllm-project/vllm: worker.py, 0.6", "Memory profiling results: total_gpu_memory=23.50GiB initial_memory_usage=15.34GiB peak_torch_memory=17.98GiB memory_usage_post_profile=15.35GiB non_torch_memory=0.25GiB kv_cache_size=2.75GiB gpu_memory_utilization=0.90",
     {0: {"capacity": "23.50GiB", "budget": {"total": "23.50GiB", "non_torch": "0.25GiB", "kv_cache": "2.75GiB"}}}),
    ("github.com/NVIDIA/TensorRT-LLM: defaultAllocator.cpp", "[TensorRT-LLM][ERROR] [defaultAllocator.cpp::allocate::31] Error Code 1: Cuda Runtime (out of memory)\n[TensorRT-LLM][WARNING] Requested amount of GPU memory (69568823296 bytes) could not be allocated. There may not be enough free memory for allocation to succeed.\n"
     "[TensorRT-LLM][ERROR] [deserialize.cpp::load::572] Error Code 2: OutOfMemory (Requested size was 69568823296 bytes.)", {0: {"oom": [("unknown", "69568823296|1")]}}),
    ("github.com/NVIDIA/nccl/issues/1235", "node1:3063028:3066152 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'\n\nnode1:3063028:3066152 [3] include/alloc.h:185 NCCL WARN Failed to CUDA calloc 6291968 bytes\nnode1:3063028:3066152 [3] NCCL INFO transport/p2p.cc:204 -> 1",
     {3: {"oom": [("unknown", "6291968|1")]}}),
    ("github.com/NVIDIA/nccl-tests/issues/166", "node1:9621:9691 [6] misc/shmutils.cc:71 NCCL WARN Error: failed to extend /dev/shm/nccl-fjwOOB to 5967876 bytes", {HOST: {"oom": [("unknown",)], "says": "/dev/shm"}}),
    ("github.com/pytorch/pytorch/issues/5040", "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\nRuntimeError: DataLoader worker (pid 325) is killed by signal: Bus error. ",
     {HOST: {"oom": [("unknown",)], "says": "/dev/shm"}}),
    ("github.com/QwenLM/Qwen3/issues/873", "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", {0: {"oom": [("unknown",)]}}),
    ("github.com/tensorflow/tensorflow/issues/7072", "E c:\\stream_executor\\cuda\\cuda_blas.cc:372] failed to create cublas handle: CUBLAS_STATUS_ALLOC_FAILED", {0: {"oom": [("unknown",)]}}),
    ("PyTorch, cudnn", "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", {0: {"oom": [("unknown",)]}}),
    ("TensorFlow, op_kernel.cc", "OP_REQUIRES failed at tile_ops.cc:123 : Resource exhausted: OOM when allocating tensor with shape[16,1024,1024] and type float on /job:localhost/replica:0/task:0/device:GPU:2 by allocator GPU_2_bfc", {2: {"oom": [("unknown", 16 * 1024 * 1024 * 4)]}}),
    ("CuPy", "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 2,147,483,648 bytes (allocated so far: 8,589,934,592 bytes).", {0: {"oom": [("unknown", 2147483648, None, 8589934592)]}}),
    ("DirectML", "RuntimeError: Could not allocate tensor with 377487360 bytes. There is not enough GPU video memory available!", {0: {"oom": [("unknown", "377487360|1")]}}),
    ("MTIA", "torch.OutOfMemoryError: MTIA out of memory. Tried to allocate 2.00 GiB. MTIA device 0 has a total capacity of 60.00 GiB of which 1.50 GiB is free.", {0: {"oom": [("in_use", "2.00 GiB", "1.50 GiB")]}}),
    ("MLX, allocator.cpp", "[metal::malloc] Attempting to allocate 75598135296 bytes which is greater than the maximum allowed buffer size of 22613000192 bytes.", {0: {"oom": [("limit", "75598135296|1", None, None, "22613000192|1")]}}),
    ("Python", "MemoryError", {HOST: {"oom": [("unknown",)]}}),
    ("docs.nesi.org.nz/General/FAQs/What_does_oom_kill_mean", "slurmstepd: error: Detected 1 oom-kill event(s) in step 370600.batch cgroup", {HOST: {"oom": [("unknown",)]}}),
    ("Slurm 16", "slurmstepd: error: Job 12345 exceeded memory limit (10371896 > 10240000), being killed", {HOST: {"oom": [("unknown",)], "host": ("10371896|KB",) * 3, "says": "Slurm killed a process"}}),
    ("Slurm, seff", "State: OUT_OF_MEMORY (exit code 0)\nMemory Utilized: 62.50 GB\nMemory Efficiency: 97.66% of 64.00 GB", {HOST: {"oom": [("unknown",)], "host": ("62.50 GB",) * 3, "capacity": "64.00 GB"}}),
    ("Slurm, sacct", "       JobID    JobName     MaxRSS      State \n------------ ---------- ---------- ---------- \n12345            train             OUT_OF_ME+ \n12345.batch       batch  65534212K OUT_OF_ME+ \n12345.0          python  33554432K  COMPLETED ",
     {HOST: {"oom": [("unknown",)], "host": ("65534212|KB", "65534212|KB", "33554432|KB")}}),
    ("link2xt.codeberg.page/blog/2026-01-24-oom-kills-the-shell.html", "[35105.264752] Out of memory: Killed process 251538 (rustc) total-vm:3776868kB, anon-rss:2865152kB, file-rss:4480kB, shmem-rss:0kB, UID:1000 pgtables:6608kB oom_score_adj:200",
     {HOST: {"oom": [("unknown",)], "host": ("2865152kB",) * 3, "says": "the kernel killed rustc"}}),
    ("github.com/rfjakob/earlyoom/issues/131", "mem avail:  6815 of 13855 MiB (49 %), swap free:    0 of    0 MiB ( 0 %)\nlow memory! at or below SIGTERM limits: mem 50 %, swap 10 %\nsending SIGTERM to process 12006 \"python3\": badness 209, VmRSS 2890 MiB",
     {HOST: {"oom": [("unknown",)], "host": ("2890 MiB",) * 3, "says": "earlyoom killed python3"}}),
    ("github.com/rfjakob/earlyoom/issues/121", "killing process 27541 \"bash\" with signal 15: badness 550, VmRSS 7610 MiB", {HOST: {"oom": [("unknown",)], "host": ("7610 MiB",) * 3, "says": "earlyoom killed bash"}}),
    ("github.com/systemd/systemd/issues/24185", "[2406674.127782] systemd-oomd[2261673]: Killed /system.slice/httpd.service due to memory used (32305733632) / total (33046601728) and swap used (7730294784) / total (8589930496) being more than 90.00%",
     {HOST: {"oom": [("unknown",)], "host": ("32305733632|1",) * 3, "capacity": "33046601728|1", "says": "systemd-oomd killed"}}),
    ("Kubernetes, eviction", "The node was low on resource: memory. Threshold quantity: 100Mi, available: 88Mi. Container main was using 12913464Ki, request is 0, has larger consumption of memory.",
     {HOST: {"oom": [("unknown",)], "host": ("12913464|KB",) * 3, "says": "the kubelet killed"}}),
    ("gpustat 1", "server1  Mon Jul 22 10:00:00 2024  535.104.05\n[0] NVIDIA A100-SXM4-40GB | 65'C, 100 %, 250 / 400 W | 39580 / 40960 MB | alice(39574M)\n[1] NVIDIA A100-SXM4-40GB | 30'C,   0 %,  50 / 400 W |     3 / 40960 MB |",
     {0: {"device": ("39580|MB",) * 3, "capacity": "40960 MB"}, 1: {"device": ("3|MB",) * 3, "capacity": "40960 MB"}}),
    ("nvitop 1", "│   0  A100-SXM4-80GB      On   │ 00000000:0F:00.0 Off │                    0 │ MEM: ███ 25.4%\n│ N/A   42C    P0   101W / 400W │  20.25GiB / 80.00GiB │     29%      Default │ UTL: ██ 29%", {0: {"device": ("20.25GiB",) * 3, "capacity": "80.00GiB"}}),
    ("nvidia-smi, as a CSV", "index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%]\n0, NVIDIA GeForce RTX 4090, 21030 MiB, 24564 MiB, 98 %\n1, NVIDIA GeForce RTX 4090, 2 MiB, 24564 MiB, 0 %",
     {0: {"device": ("21030 MiB",) * 3, "capacity": "24564 MiB"}, 1: {"device": ("2 MiB",) * 3, "capacity": "24564 MiB"}}),
    ("procps, free -h", "$ free -h\n               total        used        free      shared  buff/cache   available\nMem:           125Gi        98Gi       1.2Gi       2.1Gi        26Gi        24Gi\nSwap:          2.0Gi       2.0Gi          0B", {HOST: {"host": ("98|GB",) * 3, "capacity": "125|GB"}}),
    ("procps, free -m", "$ free -m\n              total        used        free      shared  buff/cache   available\nMem:          64216       61022         512         101        2681        2510", {HOST: {"host": ("61022|MB",) * 3, "capacity": "64216|MB"}}),
    ("procps, free", "              total        used        free      shared  buff/cache   available\nMem:       65757184    62486528      524288      103424     2745344     2570240", {HOST: {"host": ("62486528|KB",) * 3, "capacity": "65757184|KB"}}),
    ("github.com/ultralytics/ultralytics/issues/1654", "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n     20/300      16.25G      1.477     0.7796      1.028        120        800: 100%|███| 805/805 [01:39<00:00,  8.11it/s]\n"
     "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|███| 101/101 [00:13<00:00,  7.70it/s]\n     21/300      19.5G      1.468     0.7752      1.024        169        800: 100%|███| 805/805 [01:37<00:00,  8.25it/s]",
     {0: {"reserved": ("16.25|GB", "19.5|GB", "19.5|GB")}}),
    ("github.com/ultralytics/yolov5/issues/9320", "Epoch gpu_mem box obj cls total labels img_size\n0/299 4.25G 0.05746 3.93 65.8\n1/299 8.25G 0.05746 3.93 65.8", {0: {"reserved": ("4.25|1e9", "8.25|1e9", "8.25|1e9")}}),
    ("github.com/NVIDIA/TensorRT: builder", "[11/16/2024-00:05:45] [TRT] [I] [MemUsageChange] Init CUDA: CPU +89, GPU +0, now: CPU 16632, GPU 1187 (MiB)", {0: {"device": ("1187|MB",) * 3}}),
    ("github.com/vllm-project/vllm/issues/2418: worker.py, 0.2 to 0.8", "ValueError: The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3664). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
     {0: {"oom": [("unknown",)], "says": "lower max_model_len"}}),
    ("github.com/vllm-project/vllm: v1/core/kv_cache_utils.py, 0.8 to 0.11", "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory (13.25 GiB). Based on the available memory, the estimated maximum model length is 108544.",
     {0: {"oom": [("limit", "16.00 GiB", None, None, "13.25 GiB")], "says": "The KV cache may take 13.3 GiB at most"}}),
    ("github.com/XuehaiPan/nvitop/issues/152: nvidia-smi, processes", "| Processes:                                                                            |\n|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |\n"
     "|        ID   ID                                                             Usage      |\n|=======================================================================================|\n"
     "|    0   N/A  N/A     10734      C   ...-x86_64-Release/abcdefgh/foo_bar         160MiB |\n|    0   N/A  N/A     58661      G   .../abcdefgh/123456/bin/abcde/bazbaz          3MiB |\n"
     "|    1   N/A  N/A     10734      C   ...-x86_64-Release/abcdefgh/foo_bar         160MiB |\n+---------------------------------------------------------------------------------------+",
     {0: {"device": ("160|MB + 3|MB",) * 3}, 1: {"device": ("160|MB",) * 3}}),
    ("github.com/m0nad/Diamorphine/issues/13: nvidia-smi 410", "|   0  Tesla V100-DGXS...  Off  | 00000000:82:00.0 Off |                    0 |\n| N/A   38C    P0    49W / 300W |    449MiB / 32478MiB |      0%      Default |\n"
     "+-------------------------------+----------------------+----------------------+\n| Processes:                                                       GPU Memory |\n|    0     87315    C   python                                        439MiB |\n+-----------------------------------------------------------------------------+",
     {0: {"device": ("449MiB",) * 3, "capacity": "32478MiB"}}),
    ("nvidia-smi --query-compute-apps, 535", "pid, process_name, used_gpu_memory [MiB]\n2034, /usr/bin/python3, 10523 MiB\n2099, python, 4001 MiB", {0: {"device": ("10523 MiB + 4001 MiB",) * 3}}),
    ("nvidia-smi --query-compute-apps -l, 535", "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\nGPU-62176d6c-c6fc-2cb4-59b0-77c037965c8a, 2034, python, 10523 MiB\nGPU-8e52c368-ae0c-66f4-0f9f-d9b1b5682d23, 2099, python, 4001 MiB\n"
     "GPU-62176d6c-c6fc-2cb4-59b0-77c037965c8a, 2034, python, 11523 MiB\nGPU-8e52c368-ae0c-66f4-0f9f-d9b1b5682d23, 2099, python, 4001 MiB",
     {0: {"device": ("10523 MiB", "11523 MiB", "11523 MiB")}, 1: {"device": ("4001 MiB",) * 3}}),
    ("github.com/ollama/ollama/issues/7745: sched.go, 0.3 to 0.11", 'time=2024-11-19T11:57:03.647-06:00 level=INFO source=sched.go:507 msg="updated VRAM based on existing loaded models" gpu=GPU-a9fe4c2f-a87c-c645-82ef-2da178797d63 library=cuda total="15.75 GiB" available="6.5 GiB"\n'
     'time=2024-11-19T11:57:03.647-06:00 level=INFO source=sched.go:507 msg="updated VRAM based on existing loaded models" gpu=GPU-8e52c368-ae0c-66f4-0f9f-d9b1b5682d23 library=cuda total="15.75 GiB" available="7.5 GiB"',
     {0: {"device": (int(9.25 * 2**30),) * 3, "capacity": "15.75 GiB"}, 1: {"device": (int(8.25 * 2**30),) * 3, "capacity": "15.75 GiB"}}),
    ("Slurm, sacct -P", "JobID|JobName|MaxRSS|ReqMem|State\n12345|train||64G|OUT_OF_MEMORY\n12345.batch|batch|65534212K|64G|OUT_OF_MEMORY\n12345.0|python|33554432K|64G|COMPLETED",
     {HOST: {"oom": [("unknown",)], "host": ("65534212|KB", "65534212|KB", "33554432|KB")}}),
    ("one rank, several GPUs", "[rank0]: GPU 0: 10.5 GB allocated, 14.0 GB reserved\n[rank0]: GPU 1: 2.5 GB allocated, 4.0 GB reserved\n[rank1]: GPU 2: 11.5 GB allocated, 15.0 GB reserved",
     {0: {"allocated": ("10.5 GB",) * 3, "reserved": ("14.0 GB",) * 3}, 1: {"allocated": ("2.5 GB",) * 3, "reserved": ("4.0 GB",) * 3},
      2: {"allocated": ("11.5 GB",) * 3, "reserved": ("15.0 GB",) * 3}}),
    ("github.com/pytorch/pytorch/issues/465: 0.1.9", 'THCudaCheck FAIL file=/work/torch/lib/THC/generic/THCStorage.cu line=66 error=2 : out of memory\nTraceback (most recent call last):\n  File "main_snli.py", line 293, in <module>\n    experiment=BaseExperiment()\n'
     '  File "main_snli.py", line 74, in __init__\n    self.model.cuda()\n  File "/home/you/anaconda3/lib/python3.6/site-packages/torch/nn/modules/module.py", line 143, in cuda', {0: {"oom": [("unknown",)], "says": "main_snli.py:74 __init__"}}),
    ("github.com/google/trax/issues/431: TPU", "RuntimeError: RESOURCE_EXHAUSTED: Attempting to allocate 31.0M. That was not possible. There are 58.5M free. Due to fragmentation, the largest contiguous region of free memory is 30.5M.; (0x0x0_HBM0)",
     {0: {"oom": [("free_enough", "31.0|MB", "58.5|MB")], "says": "but the largest piece of it had 30.5 MiB"}}),
    ("github.com/tensorflow/tpu/issues/385", "Status code: Resource exhausted [9x]\n  Compilation failure: Ran out of memory in memory space hbm. Used 8.25G of 8.00G hbm. Exceeded hbm capacity by 256.00M.",
     {0: {"oom": [("too_large", "8.25|GB")], "capacity": "8.00|GB", "says": "The device has 8.0 GiB"}}),
    ("github.com/Comfy-Org/ComfyUI/issues/12360: as Markdown keeps it", "Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated : 14.75 GiB\nRequested : 320.00 MiB\nDevice limit : 15.75 GiB\nFree (according to CUDA): 0 bytes",
     {0: {"oom": [("in_use", "320.00 MiB", "0 bytes", "14.75 GiB")], "capacity": "15.75 GiB"}}),
    ("github.com/Comfy-Org/ComfyUI/issues/4852: its report", '# ComfyUI Error Report\n- **Exception Type:** torch.OutOfMemoryError\n- **Exception Message:** Allocation on device \n## Stack Trace\n\n  File "C:\\Users\\you\\ComfyUI\\execution.py", line 317, in execute\n    x()\n',
     {0: {"oom": [("unknown",)], "says": "execution.py:317 execute"}}),
    ("github.com/Comfy-Org/ComfyUI/issues/5511", "Total VRAM 24576 MB, total RAM 49088 MB", {0: {"capacity": "24576 MB"}}),
    ("github.com/NVIDIA/Megatron-LM/issues/1509: NCCL 2.21", "node:47604:53083 [0] include/alloc.h:103 NCCL WARN Cuda failure 2 'out of memory'\nnode:47604:53083 [0] include/alloc.h:206 NCCL WARN Failed to CUDA calloc async 24 bytes\n"
     "node:47611:53081 [7] include/alloc.h:103 NCCL WARN Cuda failure 2 'out of memory'\nnode:47611:53081 [7] include/alloc.h:206 NCCL WARN Failed to CUDA calloc async 4 bytes",
     {0: {"oom": [("unknown", "24 bytes")]}, 7: {"oom": [("unknown", "4 bytes")]}}),
    ("github.com/facebookresearch/fairseq/issues/2442: without its head", "| Allocated memory      |    3595 MB |    4374 MB |    4374 MB |     778 MB |\n|       from large pool |    3592 MB |    4371 MB |    4371 MB |     778 MB |\n"
     "| GPU reserved memory   |    3614 MB |    4394 MB |    4394 MB |     780 MB |", {0: {"allocated": ("3595 MB", "4374 MB", "3595 MB"), "reserved": ("3614 MB", "4394 MB", "3614 MB")}}),
    ("github.com/sgl-project/sglang/issues/4330: 0.4", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", {0: {"oom": [("unknown",)]}}),
    ("github.com/sgl-project/sglang/issues/2102: FlashInfer", "RuntimeError: Failed to allocate memory for batch_prefill_tmp_v with size 435814400 and alignment 16 in AlignedAllocator", {0: {"oom": [("unknown", "435814400|1")]}}),
    ("github.com/axolotl-ai-cloud/axolotl/pull/354", "[2023-08-09 08:13:36,085] [INFO] [axolotl.scripts.train:254] [PID:741158] GPU memory baseline: 322 MB.\n[2023-08-09 08:13:48,165] [INFO] [axolotl.load_model:329] [PID:741158] GPU memory after model load: 4837 MB.\n"
     "[2023-08-09 08:14:41,233] [INFO] [axolotl.callbacks.on_step_end:95] [PID:741158] GPU memory while training: 21573 MB.", {0: {"device": ("322 MB", "21573 MB", "21573 MB")}}),
    ("github.com/ollama/ollama/issues/7654: gpu.go, 0.4", 'time=2024-11-14T05:50:32.779Z level=DEBUG source=gpu.go:448 msg="updating cuda memory data" gpu=GPU-62176d6c-c6fc-2cb4-59b0-77c037965c8a name="NVIDIA GeForce RTX 4090" overhead="0 B" before.total="23.5 GiB" before.free="21.3 GiB" now.total="23.5 GiB" now.free="21.25 GiB" now.used="2.4 GiB"',
     {0: {"device": (int(2.25 * 2**30),) * 3, "capacity": "23.5 GiB"}}),
    ("github.com/intel/intel-extension-for-pytorch/issues/629", "RuntimeError: XPU out of memory. Tried to allocate 1.00 GiB (GPU 0; 15.50 GiB total capacity; 990.00 MiB already allocated; 990.00 MiB reserved in total by PyTorch)",
     {0: {"oom": [("unknown", "1.00 GiB", None, "990.00 MiB")], "capacity": "15.50 GiB"}}),
    ("github.com/intel/torch-xpu-ops/issues/2392: 2.10", "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 16.50 GiB of which 16.50 GiB is free. 8.25 GiB allowed; Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
     {0: {"oom": [("free_enough", "8.00 GiB", "16.50 GiB", "0 bytes", "8.25 GiB")]}}),
    ("kubectl describe pod, Kubernetes 1.2x", "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137", {HOST: {"oom": [("unknown",)]}}),
    ("PyTorch 2.x on MPS: Metal's limit for one buffer", "RuntimeError: Invalid buffer size: 24.75 GB", {0: {"oom": [("unknown", "24.75|GB")]}}),
    ("xpu-smi stats, 1.2", "| Device ID                   | 1                                                                  |\n| GPU Memory Used (MiB)       | 1234                                                               |",
     {1: {"device": ("1234|MB",) * 3}}),
    ("github.com/huggingface/trl/issues/3436: its traceback below, by the launcher", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 388.00 MiB. GPU 0 has a total capacity of 9.75 GiB of which 95.75 MiB is free. "
     "Including non-PyTorch memory, this process has 9.50 GiB memory in use. Of the allocated memory 6.50 GiB is allocated by PyTorch, and 2.75 GiB is reserved by PyTorch but unallocated.\n"
     '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/data/grpo/sft/sft.py", line 67, in <module>\n[rank0]:     trainer.train()',
     {0: {"oom": [("not_contiguous", "388.00 MiB", "95.75 MiB", "6.50 GiB")], "says": "This process held 256 MiB that PyTorch does not see"}}),
    ("github.com/Lightning-AI/litgpt/issues/303: two runs, the second message cut off", "With 1 GPU, the following occurs:\n" + NEW.format("8.00 GiB", 0, "23.75 GiB", "1.25 GiB", "12.50 GiB", "8.50 GiB")
     + "\n\nWith 2 GPUs:\niter 4 step 0: loss 2.6297, iter time: 827.80ms\n...\nCUDA out of memory. Tried to allocate 8.00 GiB. GPU 1 has a total capacty of 23.75 GiB of which 1.50 GiB is free. Including non-PyTorch memory, this process has 22.25 GiB memory in use. Of the",
     {0: {"oom": [("not_contiguous", "8.00 GiB", "1.25 GiB", "12.50 GiB")]}, 1: {"oom": [("in_use", "8.00 GiB", "1.50 GiB")], "capacity": "23.75 GiB"}}),
    ("github.com/Lightricks/LTX-2/issues/57: four processes on one GPU", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 30.00 MiB. GPU 0 has a total capacity of 79.25 GiB of which 15.25 MiB is free. Process 16746 has 20.75 GiB memory in use. "
     "Process 16747 has 20.25 GiB memory in use. Process 16748 has 18.75 GiB memory in use. Of the allocated memory 19.50 GiB is allocated by PyTorch, and 225.50 MiB is reserved by PyTorch but unallocated.",
     {0: {"oom": [("not_contiguous", "30.00 MiB", "15.25 MiB", "19.50 GiB")]}}),
    ("github.com/patrickbryant1/AFProfile/issues/8", "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354176 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n"
     "             parameter allocation:  372.75MiB\n              constant allocation:    48.5KiB\n        maybe_live_out allocation:    9.50GiB\n     preallocated temp allocation:    4.50GiB\n                 total allocation:   14.50GiB",
     {0: {"oom": [("unknown", "4770354176|1")], "says": "XLA planned buffers of 14.5 GiB for the program: 372.8 MiB for parameters, 9.5 GiB for outputs, 4.5 GiB for temporaries, 48.5 KiB for constants."}}),
    ("github.com/jax-ml/jax/issues/788: wrapped by the terminal", "[1] 2019-06-13 01:17:08.886805: E external/org_tensorflow/tensorflow/compiler/xla/python/local_client.cc:672] Execution of replica 0 failed: Resource exhausted: Out \nof memory while trying to allocate 5520758272 bytes.",
     {0: {"oom": [("unknown", "5520758272|1")]}}),
    ("github.com/vllm-project/vllm-ascend/issues/19: a quote in a quote", "> RuntimeError: NPU out of memory. Tried to allocate 22.00 MiB (NPU 0; 60.75 GiB total capacity; 10.25 GiB already allocated; 10.25 GiB current active; 19.50 MiB free; 10.75 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
     {0: {"oom": [("not_contiguous", "22.00 MiB", "19.50 MiB", "10.25 GiB")], "says": "max_split_size_mb in PYTORCH_NPU_ALLOC_CONF"}}),
    ("github.com/vllm-project/vllm-omni/issues/1199: a title, cut off", "[Bug]: RuntimeError: NPU out of memory. Tried to allocate 52.00 MiB (NPU 0; 60.75 GiB total capacity; 59.25 GiB already allocated;",
     {0: {"oom": [("unknown", "52.00 MiB", None, "59.25 GiB")], "capacity": "60.75 GiB"}}),
    ("github.com/ShannonAI/Self_Explaining_Structures_Improve_NLP_Models/issues/6: without its head", "Tried to allocate 20.00 MiB (GPU 0; 1.75 GiB total capacity; 1.25 GiB already allocated; 2.75 MiB free; 1.26 GiB reserved in total by PyTorch)",
     {0: {"oom": [("in_use", "20.00 MiB", "2.75 MiB", "1.25 GiB")]}}),
    ("github.com/tensorflow/tensorflow/issues/9790: its statistics alone", "2017-05-09 13:13:15.970966: I tensorflow/core/common_runtime/bfc_allocator.cc:702] Stats:\nLimit:                 10619240448\nInUse:                  2442276096\nMaxInUse:               2642276096",
     {0: {"allocated": ("2442276096|1", "2642276096|1", "2642276096|1")}}),
    ("github.com/lemonade-sdk/vllm-rocm/issues/5", "2026-06-09 14:01:52.982 [Error] (Process) (EngineCore pid=42521) ERROR 06-09 14:01:52 [core.py:1136] ValueError: To serve at least one request with the models's max seq len (131072), (4.25 GiB KV cache is needed, "
     "which is larger than the available KV cache memory (4.0 GiB). Based on the available memory, the estimated maximum model length is 127776.", {0: {"oom": [("limit", "4.25 GiB", None, None, "4.0 GiB")]}}),
    ("github.com/vllm-project/vllm/issues/12568: in k9s", "│ INFO 03-24 04:03:55 [gpu_model_runner.py:1176] Model loading took 14.75 GB and 28.719376 seconds                │", {0: {"budget": {"weights": "14.75 GB"}}}),
    ("github.com/HabanaAI/vllm-fork/issues/232", "INFO 09-03 07:45:49 habana_model_runner.py:486] Loading model weights took in total 14.25 GiB of device memory (14.50 GiB/93.50 GiB used) and 1.984 GiB of host memory (48.26 GiB/1007 GiB used)",
     {0: {"budget": {"weights": "14.25 GiB"}, "device": ("14.50 GiB",) * 3, "capacity": "93.50 GiB"}}),
    ("github.com/mlc-ai/mlc-llm/issues/2026", "[2024-03-25 15:35:00] INFO engine.py:243: Estimated total single GPU memory usage: 14361.25 MB (Parameters: 3615.25 MB. KVCache: 10689.50 MB. Temporary buffer: 56.50 MB)",
     {0: {"budget": {"weights": "3615.25 MB", "kv_cache": "10689.50 MB", "activations": "56.50 MB"}}}),
    ("github.com/noonghunna/club-3090/issues/1261: SGLang with a draft", "[2026-09-12 00:22:48 TP1] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 454112, K size: 1.25 GB, V size: 1.50 GB\n[2026-09-12 00:22:48 TP1] Memory pool end. avail mem=6.25 GB",
     {1: {"budget": {"kv_cache": "1.25 GB + 1.50 GB", "available": "6.25 GB"}}}),
    ("github.com/Comfy-Org/ComfyUI/issues/7440: GiB", "MPS backend out of memory (MPS allocated: 9.50 GiB, other allocations: 17.25 GiB, max allowed: 27.00 GiB). Tried to allocate 292.50 MiB on private pool.",
     {0: {"oom": [("limit", "292.50 MiB", None, "9.50 GiB", "27.00 GiB")], "says": "other allocations of the process 17.3 GiB"}}),
    ("github.com/pinokiocomputer/pinokio/issues/941: a shared pool", "MPS backend out of memory (MPS allocated: 16.00 GB, other allocations: 3.25 GB, max allowed: 18.25 GB). Tried to allocate 256 bytes on shared pool.",
     {0: {"oom": [("limit", "256 bytes", None, "16.00|GB", "18.25|GB")]}}),
    ("github.com/docker/for-linux/issues/1001: two kills", "May 15 23:09:27 host kernel: [  514.682838] Memory cgroup out of memory: Killed process 15617 (python3) total-vm:11892kB, anon-rss:4292kB, file-rss:3428kB, shmem-rss:0kB\n"
     "May 15 23:09:27 host kernel: [  514.686093] oom_reaper: reaped process 15617 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB\n"
     "May 15 23:09:27 host kernel: [  514.686269] Memory cgroup out of memory: Killed process 15674 (python3) total-vm:11892kB, anon-rss:4392kB, file-rss:3424kB, shmem-rss:0kB",
     {HOST: {"oom": [("unknown",)] * 2, "host": ("4292kB", "4392kB", "4392kB"), "says": "It is the last of 2 such events."}}),
    ("github.com/ROCm/TheRock/issues/2118: in a test's line", "2025-11-14T08:52:38.3746210Z FAILED [0.0004s] test/test_autograd.py::TestAutogradDeviceTypeCUDA::test_set_requires_grad_only_for_floats_cuda_int32 - torch.OutOfMemoryError: HIP out of memory. Tried to allocate 64.00 MiB. "
     "GPU 0 has a total capacity of 287.75 GiB of which 275.75 GiB is free. 1.00 GiB allowed; Of the allocated memory 1000.00 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., HIP Graphs), and 20.00 MiB is reserved by PyTorch but unallocated.",
     {0: {"oom": [("limit", "64.00 MiB", "275.75 GiB", "1000.00 MiB", "1.00 GiB")]}}),
    ("github.com/ROCmSoftwarePlatform/hiptensorflow/issues/62", "mnist.py: failed to allocate 8.00G from device: hipError_t(1002)", {0: {"oom": [("unknown", "8.00|GB")]}}),
    ("github.com/NVIDIA/Megatron-LM/issues/965", "[Start] Allocated: 36659.25 MB, Reserved: 37246.00 MB\n[After baddbmm] Allocated: 38707.25 MB, Reserved: 39294.00 MB\n[End] Allocated: 37659.25 MB, Reserved: 39294.00 MB",
     {0: {"allocated": ("36659.25 MB", "38707.25 MB", "37659.25 MB"), "reserved": ("37246.00 MB", "39294.00 MB", "39294.00 MB")}}),
    ("github.com/radixark/miles/issues/687", "(MegatronTrainRayActor pid=29122) [2026-03-05 02:04:51] memory_utils.py:41 - [Rank 7] Memory-Usage after update_weights: {'gpu': '7', 'total_GB': 178.25, 'free_GB': 95.75, 'used_GB': 82.5, 'allocated_GB': 60.25, 'reserved_GB': 70.5}",
     {7: {"allocated": ("60.25|GB",) * 3, "reserved": ("70.5|GB",) * 3, "device": ("82.5|GB",) * 3, "capacity": "178.25|GB"}}),
    ("github.com/jjang-ai/vmlx/issues/58", "[error] libc++abi: terminating due to uncaught exception of type std::runtime_error: [METAL] Command buffer execution failed: Insufficient Memory", {0: {"oom": [("unknown",)]}}),
    ("github.com/pytorch/pytorch/issues/35901", "|            CUDA OOMs: 1            |        cudaMalloc retries: 1         |\n|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |\n"
     "| Allocated memory      |    1062 MB |    4877 MB |   89299 MB |   88237 MB |\n|       from large pool |    1048 MB |    4865 MB |   89263 MB |   88215 MB |\n| GPU reserved memory   |   12420 MB |   12430 MB |   16924 MB |    4504 MB |",
     {0: {"allocated": ("1062 MB", "4877 MB", "1062 MB"), "reserved": ("12420 MB", "12430 MB", "12420 MB")}}),
    ("github.com/NVIDIA-NeMo/Speech/issues/14850", " 0: Training epoch 0, iteration 8/29 | lr: 5.389e-06 | global_batch_size: 512 | global_step: 8 | max_memory_reserved: 57466159104 | max_memory_allocated: 53930270720 | reduced_train_loss: 10.22\n 0: \n"
     " 0: Training epoch 0, iteration 11/29 | lr: 7.186e-06 | global_batch_size: 512 | global_step: 11 | max_memory_reserved: 57675874304 | max_memory_allocated: 53930270720 | reduced_train_loss: 9.924",
     {0: {"allocated": ("53930270720|1",) * 3, "reserved": ("57466159104|1", "57675874304|1", "57675874304|1")}}),
    ("github.com/SysCV/transfiner/issues/16: Detectron2", "[04/27 13:03:34 d2.utils.events]:  eta: 4:00:48  iter: 319  total_loss: 2.127  loss_mask: 0.3233  time: 0.1666  data_time: 0.0013  lr: 0.0007992  max_mem: 8277M", {0: {"allocated": ("8277|MB",) * 3}}),
    ("github.com/PaddlePaddle/Paddle/issues/42228", "RuntimeError: ResourceExhaustedError:\n\nOut of memory error on GPU 0. Cannot allocate 98.250000MB memory on GPU 0, 6.000000GB memory has been allocated and available memory is only 0.000000B.",
     {0: {"oom": [("in_use", "98.250000MB", 0, "6.000000GB")], "allocated": ("6.000000GB",) * 3}}),
    ("github.com/PaddlePaddle/Paddle/pull/19779: 1.6", "Out of memory error on GPU 0. Cannot allocate 145.500000MB GPU memory, available memory is 72.250000MB.", {0: {"oom": [("in_use", "145.500000MB", "72.250000MB")]}}),
    ("github.com/microsoft/onnxruntime/issues/20038", "onnx runtime error 6: Non-zero status code returned while running Mul node. Name:'Mul_8702' Status Message: bfc_arena.cc:368 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool, onnxruntime::Stream*, bool, "
     "onnxruntime::WaitNotificationFn) Failed to allocate memory for requested buffer of size 2830172160", {0: {"oom": [("unknown", "2830172160|1")]}}),
    ("github.com/mxfold/mxfold2/issues/20", "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 132426121216 bytes. Error code 12 (Cannot allocate memory)", {HOST: {"oom": [("unknown", "132426121216|1")]}}),
    ("discourse.allennlp.org/t/356", "INFO - - Worker 0 memory usage MB: 32792.25\nINFO - - GPU 0 memory usage MB: 11958", {HOST: {"host": ("32792.25|MB",) * 3}, 0: {"device": ("11958|MB",) * 3}}),
    ("github.com/EnzymeAD/Enzyme-JAX/pull/2422: AllocatorStats", "│    In Use: 2.75 GiB\n│    Largest Alloc Size: 180.000 MiB\n│    Reserved: 27.25 GiB\n│    Peak Reserved: 27.50 GiB", {0: {"reserved": ("27.25 GiB", "27.50 GiB", "27.50 GiB")}}),
    ("github.com/facebookresearch/Detectron/issues/5: Caffe2", "Error at: caffe2/core/context_gpu.cu:343: out of memory", {0: {"oom": [("unknown",)]}}),
    ("github.com/pytorch/xla/issues/1966: free -h, its indentation lost", "total        used        free      shared  buff/cache   available\nMem:            58G        9.25G         26G         12M         23G         49G", {HOST: {"host": ("9.25|GB",) * 3, "capacity": "58|GB"}}),
    ("github.com/hyperhq/hyperd/issues/130: Java", "OpenJDK 64-Bit Server VM warning: INFO: os::commit_memory(0x00000000c5330000, 181207040, 0) failed; error='Cannot allocate memory' (errno=12)\n\nThere is insufficient memory for the Java Runtime Environment to continue.\n"
     "Native memory allocation (mmap) failed to map 181207040 bytes for committing reserved memory.", {HOST: {"oom": [("unknown", "181207040|1")]}}),
    ("github.com/vllm-project/vllm/issues/783: what somebody writes around it", "I have GPU device 1, and there are other processes taking up about 15G of Memory-Usage, but there is 30G of Memory-Usage left, so why does it go OOM when I run a small model?\n" + OLD.format("1.75 GiB", 0, "44.50 GiB", "27.75 GiB", "565.25 MiB", "28.00 GiB"),
     {0: {"oom": [("in_use", "1.75 GiB", "565.25 MiB", "27.75 GiB")], "device": (int((44.5 - 565.25 / 1024) * 2**30),) * 3}}),
    ("github.com/vllm-project/vllm-ascend/issues/2534: npu-smi on Atlas A3, whose NPUs have two chips", "| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|\n| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |\n"
     "| 0     Ascend910           | OK            | 178.5       36                0    / 0             |\n| 0     0                   | 0000:9D:00.0  | 0           0    / 0          3416 / 65536         |\n"
     "| 0     Ascend910           | OK            | -           36                0    / 0             |\n| 1     1                   | 0000:9F:00.0  | 0           0    / 0          3195 / 65536         |",
     {0: {"device": ("3416|MB",) * 3, "capacity": "65536|MB"}, 1: {"device": ("3195|MB",) * 3, "capacity": "65536|MB"}}),
    ("github.com/intel/xpumanager/issues/145: xpu-smi 2.0", "|   0  Intel(R) Arc(TM) A770   Off             | 0000:03:00.0      Off      |               Disabled |\n|      Graphics                                |                            |                        |\n"
     "| N/A               N/A  45W / 190W            | 3652MiB / 16288MiB         |      N/A       Default |", {0: {"device": ("3652MiB",) * 3, "capacity": "16288MiB"}}),
    ("github.com/XuehaiPan/nvitop/pull/8: parts of GPUs", "| MIG devices:                                                                |\n|  1    3   0   0  |  14366MiB / 19968MiB | 28      0 |  2   0    1    0    0 |\n|                  |      4MiB / 32767MiB |           |                       |\n"
     "+------------------+----------------------+-----------+-----------------------+\n|  1    5   0   1  |   9826MiB / 19968MiB | 28      0 |  2   0    1    0    0 |", {1: {"device": ("14366MiB + 9826MiB",) * 3}}),
    ("github.com/marimo-team/marimo/issues/9237: rocm-smi --csv", "device,GPU use (%),VRAM Total Memory (B),VRAM Total Used Memory (B),Card Series\ncard0,0,21458059264,27856896,Radeon RX 7900 XT\ncard1,0,21458059264,37856256,Radeon RX 7900 XT",
     {0: {"device": ("27856896|1",) * 3, "capacity": "21458059264|1"}, 1: {"device": ("37856256|1",) * 3, "capacity": "21458059264|1"}}),
    ("github.com/marimo-team/marimo/issues/9237: rocm-smi --json, below prose", "JSON output is also available\n  \"card1\": {\n    \"VRAM Total Memory (B)\": \"21458059264\",\n    \"VRAM Total Used Memory (B)\": \"27856896\",",
     {1: {"device": ("27856896|1",) * 3, "capacity": "21458059264|1"}}),
    ("github.com/elementary/monitor/issues/369: amdgpu's files", "# cat /sys/class/drm/card0/device/mem_info_vram_used\n6812925952\n\n# cat /sys/class/drm/card0/device/mem_info_vram_total\n8573157376", {0: {"device": ("6812925952|1",) * 3, "capacity": "8573157376|1"}}),
    ("github.com/kubernetes/kubernetes/issues/114142: a control group's files", "$ cat memory.usage_in_bytes\n501346304\n$ cat memory.max_usage_in_bytes\n524192768\n$ cat memory.limit_in_bytes\n524288000",
     {HOST: {"host": ("501346304|1", "524192768|1", "524192768|1"), "capacity": "524288000|1"}}),
    ("github.com/ironcore-dev/dpservice/issues/74: by the journal", "Jun 29 07:24:44 host kernel: memory: usage 1048576kB, limit 2097152kB, failcnt 141\nJun 29 07:24:44 host kernel: swap: usage 0kB, limit 9007199254740988kB, failcnt 0\n"
     "Jun 29 07:24:44 host kernel: Memory cgroup out of memory: Killed process 3132 (python3) total-vm:68886200kB, anon-rss:1017600kB, file-rss:39796kB", {HOST: {"oom": [("unknown",)], "host": ("1048576kB", "1048576kB", "1017600kB"), "says": "Its limit is 2.0 GiB"}}),
    ("github.com/gpustack/runner/pull/251: vLLM 0.27", "(Worker_TP1 pid=448) INFO 08-14 14:07:22 [gpu_model_runner.py:6806] Estimated CUDA graph memory: 0.75 GiB total\n(Worker_TP1 pid=448) INFO 08-14 14:07:22 [gpu_worker.py:563] Available KV cache memory: 6.25 GiB",
     {1: {"budget": {"graphs": "0.75 GiB", "kv_cache": "6.25 GiB"}}}),
    ("github.com/hafs-community/HAFS/issues/101: srun", "srun: error: node-01: task 4: Out Of Memory\nsrun: Terminating job step 3495064.0", {HOST: {"oom": [("unknown",)]}}),
    ("github.com/flux-framework/flux-core/pull/6289", "29.475s: flux-shell[0]: ERROR: oom: Memory cgroup out of memory: killed 1 task on picl7.\n29.563s: flux-shell[0]: ERROR: oom: memory.peak = 1.4375G", {HOST: {"oom": [("unknown",)], "host": ("1.4375|GB",) * 3}}),
    ("github.com/marbl/canu/issues/530: PBS", "=>> PBS: job killed: mem 38427376kb exceeded limit 33554432kb\n\nPBS Job 2130285.pbs\nMem usage : 38427376kb",
     {HOST: {"oom": [("unknown",)], "host": ("38427376|KB",) * 3, "says": "PBS killed a process for lack of the host's memory. It held 36.6 GiB. Its limit is 32.0 GiB."}}),
    ("github.com/nf-core/sarek/issues/541: Torque's mail", "Job exceeded a memory resource limit (vmem, pvmem, etc.). Job was aborted\nresources_used.vmem=286793240kb\nresources_used.mem=37296360kb", {HOST: {"oom": [("unknown",)], "host": ("37296360|KB",) * 3}}),
    ("github.com/BEFH/snakemake-executor-plugin-lsf/pull/4: LSF", "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 1.\n\n    Max Memory :                                 3940 MB\n    Total Requested Memory :                     4000.00 MB",
     {HOST: {"oom": [("unknown",)], "host": ("3940 MB",) * 3}}),
    ("github.com/HabanaAI/Model-References/issues/13: before PT_DEVMEM", "RuntimeError: FATAL ERROR :: MODULE:SYNHELPER workspace Allocation of size ::14493741952 failed", {0: {"oom": [("unknown", "14493741952|1")]}}),
    ("github.com/intel/intel-extension-for-pytorch/issues/646: Level Zero", "RuntimeError: oneCCL: ze_call.cpp:43 do_call: EXCEPTION: ze error at zeMemAllocDevice, code: ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", {0: {"oom": [("unknown",)]}}),
    ("github.com/huggingface/autotrain-advanced/issues/737: told again by a logger, the traceback cut off", "torch.OutOfMemoryError: " + NEW.format("124.00 MiB", 0, "20.25 GiB", "64.50 MiB", "15.75 GiB", "165.25 MiB").replace("CUDA", "HIP")
     + "\n\nERROR    | 2024-08-21 22:56:04 | autotrain.trainers.common:wrapper:121 - " + NEW.format("124.00 MiB", 0, "20.25 GiB", "64.50 MiB", "15.75 GiB", "165.25 MiB").replace("CUDA", "HIP"),
     {0: {"oom": [("not_contiguous", "124.00 MiB", "64.50 MiB", "15.75 GiB")]}}),
    ("github.com/hpcaitech/ColossalAI/issues/4537: ranks print at once, without a line's end", "torch.cuda.OutOfMemoryErrortorch.cuda: torch.cuda.OutOfMemoryError.OutOfMemoryError: " + OLD.format("32.00 GiB", 6, "79.25 GiB", "54.75 GiB", "22.50 GiB", "55.50 GiB")
     + ": \n" + OLD.format("32.00 GiB", 1, "79.25 GiB", "54.75 GiB", "22.25 GiB", "55.50 GiB") + " If reserved memory is >> allocated memory see PYTORCH_CUDA_ALLOC_CONF" + OLD.format("31.00 GiB", 0, "79.25 GiB", "54.25 GiB", "22.75 GiB", "55.50 GiB"),
     {0: {"oom": [("in_use", "31.00 GiB", "22.75 GiB", "54.25 GiB")]}, 1: {"oom": [("in_use", "32.00 GiB", "22.25 GiB", "54.75 GiB")]}, 6: {"oom": [("in_use", "32.00 GiB", "22.50 GiB", "54.75 GiB")]}}),
    ("github.com/pytorch/pytorch/pull/99699: wrapped within phrases", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 138.00 MiB.\nGPU 0 has a total capacty of 15.75 GiB of which 8.50 MiB is free.\nProcess 1246069 has 577.00 MiB memory in use. Including non-PyTorch memory,\n"
     "this process has 15.25 GiB memory in use. Of the allocated memory\n14.25 GiB is allocated by PyTorch, and 410.50 MiB is reserved\nby PyTorch but unallocated. If reserved but unallocated memory is large\ntry setting max_split_size_mb to avoid fragmentation.",
     {0: {"oom": [("not_contiguous", "138.00 MiB", "8.50 MiB", "14.25 GiB")], "says": "max_split_size_mb in PYTORCH_CUDA_ALLOC_CONF"}}),
    ("github.com/pytorch/pytorch/issues/175666: vLLM 0.16", "ValueError: Free memory on device cuda:1 (19.75/22.25 GiB) on startup is less than desired GPU memory utilization (0.9, 19.875 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
     {1: {"oom": [("in_use", "19.875 GiB", "19.75|GB")], "says": "It is what gpu_memory_utilization claims"}}),
    ("TorchInductor, wrapper_benchmark.py: 2.1 and later", "Peak GPU memory usage 1234.567 MB\n0.001234", {0: {"allocated": (1234567000,) * 3}}),
    ("github.com/NVIDIA/TensorRT-LLM/pull/3467", "[TRT-LLM] [I] Memory used for model weights (inside torch) in memory usage profiling: 14.75 GiB\n[TRT-LLM] [I] Memory used after loading model weights (outside torch) in memory usage profiling: 0.50 GiB",
     {0: {"budget": {"weights": "14.75 GiB", "non_torch": "0.50 GiB"}}}),
    ("JAX, Device.memory_stats()", "{'num_allocs': 1234, 'bytes_in_use': 2147483648, 'peak_bytes_in_use': 4294967296, 'largest_alloc_size': 1073741824, 'bytes_limit': 17179869184}", {0: {"allocated": ("2147483648|1", "4294967296|1", "2147483648|1")}}),
    ("Lightning 1.0, log_gpu_memory in the progress bar", "Epoch 0:  10%|#         | 10/100 [00:05<00:45,  2.00it/s, loss=2.3, v_num=1, gpu_id: 0/memory.used (MB)=1234.0]", {0: {"device": ("1234.0|MB",) * 3}}),
    ("Ray 2, node_manager.cc", "(raylet) node_manager.cc:3071: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: abc, IP: 10.0.0.1)", {HOST: {"oom": [("unknown",)]}}),
    ("MindSpore, mem_dynamic_allocator.cc", "[ERROR] PRE_ACT(123,python): [mindspore/ccsrc/mem_dynamic_allocator.cc:125] AllocBySize] Device memory pool allocation out of memory. Alloc size: 2147483648, free: 1048576", {0: {"oom": [("in_use", "2147483648|1", "1048576|1")]}}),
    ("OneFlow", "RuntimeError: Error: CudaError: out of memory. you can set ONEFLOW_DEBUG or ONEFLOW_PYTHON_STACK_GETTER to 1 to get the Python stack of the error.", {0: {"oom": [("unknown",)]}}),
    ("github.com/ollama/ollama/issues/6288: llama.cpp on Vulkan", "ggml_vulkan: Device memory allocation of size 1073741824 failed.\nggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory", {0: {"oom": [("unknown", "1073741824|1")]}}),
    ("github.com/ggml-org/llama.cpp/issues/5483: a buffer of the host", "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 73451405312\nllama_model_load: error loading model: unable to allocate backend buffer", {HOST: {"oom": [("unknown", "73451405312|1")]}}),
    ("DETR, util/misc.py, and DINO, MAE, ConvNeXt", "Epoch: [0]  [  10/1251]  eta: 0:10:00  lr: 0.000001  loss: 6.95 (6.95)  time: 0.5123  data: 0.0003  max mem: 15234", {0: {"allocated": ("15234|MB",) * 3}}),
    ("ms-swift 3", "{'loss': 1.23, 'grad_norm': 0.9, 'learning_rate': 1e-05, 'memory(GiB)': 35.75, 'train_speed(iter/s)': 0.08, 'epoch': 0.01}", {0: {"reserved": ("35.75|GB",) * 3}}),
    ("LLaMA-Factory 0.9", "{'loss': 1.2, 'vram_allocated': 12.25, 'vram_reserved': 15.75, 'epoch': 0.1}", {0: {"allocated": ("12.25|GB",) * 3, "reserved": ("15.75|GB",) * 3}}),
    ("what people print: the level behind its figure", "GPU Memory usage: 2.25 GB allocated, 4.50 GB reserved, 6.75 GB peak", {0: {"allocated": ("2.25 GB", "6.75 GB", "2.25 GB"), "reserved": ("4.50 GB",) * 3}}),
    ("what people print: each GPU, with capitals", "GPU 1: Current Memory Allocated: 10.25 GB, Max Memory Allocated: 12.50 GB", {1: {"allocated": ("10.25 GB", "12.50 GB", "10.25 GB")}}),
    ("what people print: cudaMemGetInfo by printf", "GPU memory usage: used = 1234.562500 MB, free = 22929.187500 MB, total = 24163.750000 MB", {0: {"device": ("1234.562500 MB",) * 3, "capacity": "24163.750000 MB"}}),
    ("NVIDIA, nvidia-smi -q -d MEMORY: two GPUs, with BAR1", "Attached GPUs                             : 2\nGPU 00000000:4E:00.0\n    FB Memory Usage\n        Total                             : 24564 MiB\n        Reserved                          : 362 MiB\n        Used                              : 507 MiB\n        Free                              : 23694 MiB\n"
     "    BAR1 Memory Usage\n        Total                             : 256 MiB\n        Used                              : 6 MiB\n        Free                              : 250 MiB\n\nGPU 00000000:4F:00.0\n    FB Memory Usage\n        Total                             : 24564 MiB\n        Reserved                          : 362 MiB\n"
     "        Used                              : 1507 MiB\n        Free                              : 22694 MiB\n    BAR1 Memory Usage\n        Total                             : 256 MiB\n        Used                              : 3 MiB\n        Free                              : 253 MiB",
     {0: {"device": ("507|MB",) * 3, "capacity": "24564|MB"}, 1: {"device": ("1507|MB",) * 3, "capacity": "24564|MB"}}),
    ("AMD, rocm-smi --showmeminfo all: VIS_VRAM is a part of VRAM", "GPU[0]\t\t: VRAM Total Memory (B): 17163091968\nGPU[0]\t\t: VRAM Total Used Memory (B): 6434430976\nGPU[0]\t\t: VIS_VRAM Total Memory (B): 268435456\nGPU[0]\t\t: VIS_VRAM Total Used Memory (B): 134217728",
     {0: {"device": ("6434430976|1",) * 3, "capacity": "17163091968|1"}}),
    ("Google, tpu-info: its row names the device", "┃ Device ┃ Memory usage         ┃ Duty cycle ┃\n┡━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━┩\n│ 0      │ 18.50 GiB / 31.75 GiB │    100.00% │\n│ 4      │ 10.50 GiB / 31.75 GiB │    100.00% │",
     {0: {"device": ("18.50 GiB",) * 3, "capacity": "31.75 GiB"}, 4: {"device": ("10.50 GiB",) * 3, "capacity": "31.75 GiB"}}),
    ("Kubernetes, kubelet: the node's own memory ended", "  Warning  SystemOOM  12m  kubelet  System OOM encountered, victim process: python3, pid: 21414", {HOST: {"oom": [("unknown",)]}}),
    ("SYCL before unified runtime", "RuntimeError: Native API failed. Native API returns: -5 (PI_ERROR_OUT_OF_RESOURCES) -5 (PI_ERROR_OUT_OF_RESOURCES)", {0: {"oom": [("unknown",)]}}),
    ("Intel Extension for PyTorch 1.13", "RuntimeError: Allocation is out of device memory on current platform.", {0: {"oom": [("unknown",)]}}),
    ("any library of CUDA that cannot allocate its workspace", "torch._C._LinAlgError: cusolver error: CUSOLVER_STATUS_ALLOC_FAILED, when calling `cusolverDnCreate(handle)`", {0: {"oom": [("unknown",)]}}),
    ("github.com/cupy/cupy/pull/2242: CuPy to 6", "cupy.cuda.memory.OutOfMemoryError: out of memory to allocate 200000000000 bytes (total 200000004096 bytes, limit set to 1000000000 bytes)",
     {0: {"oom": [("limit", "200000000000|1")], "says": "(the limit of its allocator)"}}),
    ("github.com/cupy/cupy/issues/2537: Chainer tells of the error before its traceback", "Exception in main training loop: Out of memory allocating 25,600,000 bytes (allocated so far: 3,635,267,072 bytes).\nTraceback (most recent call last):\n  File \"/home/me/train.py\", line 88, in forward\n    h = F.relu(x)\n  File \"cupy/cuda/memory.pyx\", line 549, in cupy.cuda.memory.alloc\ncupy.cuda.memory.OutOfMemoryError: Out of memory allocating 25,600,000 bytes (allocated so far: 3,635,267,072 bytes).",
     {0: {"oom": [("unknown", 25600000, None, 3635267072)]}}),
    ("github.com/rapidsai/rmm/issues/1421: the first of the chain is a library's", "Traceback (most recent call last):\n  File \"torch_allocator.pyx\", line 15, in rmm._lib.torch_allocator.allocate\nMemoryError: std::bad_alloc: out_of_memory: RMM failure at:/opt/include/rmm/mr/device/pool_memory_resource.hpp:196: Maximum pool size exceeded\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n"
     "  File \"/home/me/molfind.py\", line 106, in analyze_all_frames\n    df = analyze(x)\nMemoryError: std::bad_alloc: out_of_memory: RMM failure at:/opt/include/rmm/mr/device/pool_memory_resource.hpp:196: Maximum pool size exceeded", {0: {"oom": [("unknown",)]}}),
    ("github.com/tensorflow/tensorflow/issues/45238: of the host, and two requests", "2020-11-28 09:40:14.792808: W tensorflow/core/framework/op_kernel.cc:1763] OP_REQUIRES failed at image_resizer_state.h:142 : Resource exhausted: OOM when allocating tensor with shape[1,416,416,3] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu\n"
     "2020-11-28 09:40:14.793188: W tensorflow/core/framework/op_kernel.cc:1763] OP_REQUIRES failed at cast_op.cc:109 : Resource exhausted: OOM when allocating tensor with shape[1,559,512,3] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
     {HOST: {"oom": [("unknown", 2076672), ("unknown", 3434496)]}}),
    ("github.com/vllm-project/vllm-ascend/issues/3141: CANN 8", "[Error]: Failed to apply for memory.\n        Check the remaining storage space in the hardware environment.\nEL0004: [PID: 316198] 2025-09-28-07:22:29.827.496 Failed to allocate memory.\n        TraceBack (most recent call last):\n        Failed to allocate resource[DeviceMemory] with info [size:2147483648]. Reason: Memory resources are exhausted.",
     {0: {"oom": [("unknown", "2147483648|1")]}}),
    ("github.com/HabanaAI/vllm-fork/pull/147", "INFO 08-02 17:37:44 habana_worker.py:158] Free device memory: 79.16 GiB, 39.58 GiB usable (gpu_memory_utilization=0.5), 15.83 GiB reserved for HPUGraphs (VLLM_GRAPH_RESERVED_MEM=0.4), 23.75 GiB reserved for KV cache",
     {0: {"budget": {"available": "79.16 GiB", "graphs": "15.83 GiB", "kv_cache": "23.75 GiB"}}}),
    ("spconv, tensorview/tensor.h", "RuntimeError: TensorStorage /io/include/tensorview/tensor.h 168\ncuda failed with error 2 out of memory. use CUDA_LAUNCH_BLOCKING=1 to get correct traceback.", {0: {"oom": [("unknown",)]}}),
    ("github.com/InternLM/lmdeploy/issues/2236", "terminate called after throwing an instance of 'std::runtime_error'\n  what():  [TM][ERROR] CUDA runtime error: out of memory /lmdeploy/src/turbomind/utils/allocator.h:233", {0: {"oom": [("unknown",)]}}),
    ("github.com/intel/intel-extension-for-pytorch/issues/629: what Level Zero gives in one piece", "RuntimeError: Current platform can NOT allocate memory block with size larger than 4GB! Tried to allocate 6.75 GiB (GPU  0; 15.50 GiB total capacity; 0 bytes already allocated; 0 bytes reserved in total by PyTorch)",
     {0: {"oom": [("limit", "6.75 GiB", None, 0)], "says": "4.0 GiB at most in one buffer"}}),
    ("github.com/intel/torch-xpu-ops/issues/3011: as much free as there is, as printed", "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.75 GiB. GPU 0 has a total capacity of 5.50 GiB of which 5.50 GiB is free. Of the allocated memory 512.00 KiB is allocated by PyTorch, and 1.50 MiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.",
     {0: {"oom": [("free_enough", "4.75 GiB", "5.50 GiB", "512.00 KiB")], "allocated": ("512.00 KiB",) * 3, "reserved": ("512.00 KiB + 1.50 MiB",) * 3, "capacity": "5.50 GiB"}}),
    ("github.com/ml-explore/mlx-examples/issues/70: MLX 0.0", "libc++abi: terminating due to uncaught exception of type std::runtime_error: [malloc_or_wait] Unable to allocate 12 bytes.", {0: {"oom": [("unknown", 12)]}}),
)

# What is about memory but has no figure, and what is not: one clear line each.
REFUSED = (
    ("github.com/Oneflow-Inc/libai/issues/407", "        Unreused memory not eager var is  [ 12.6049 MiB ] with mem_block_num = 9405", "a log of no known form: line 1 is about memory"),
    ("github.com/meta-pytorch/torchrec/pull/3580: divided by an unknown unit", "[('active_bytes.all.peak', 5959), ('allocated_bytes.all.current', 5959), ('reserved_bytes.all.current', 5964)]", "a log of no known form: line 1 is about memory"),
    ("github.com/tensorflow/tensorflow/issues/17092: bins", "2018-02-17 14:02:53.755606: I tensorflow/core/common_runtime/bfc_allocator.cc:630] Bin (268435456): \tTotal Chunks: 2, Chunks in use: 1. 14.59GiB allocated for chunks. 8.49GiB in use in bin.", "line 1 is about memory"),
    ("docker inspect", '            "OOMKilled": false,\n            "ExitCode": 137,', "line 1 is about memory"),
    ("what a thread says of its settings", "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512\nthe GPU RAM usage is higher (by ~ 500 MB) than before", "nor a log with lines about memory"),
    ("PyTorch, DataLoader", "RuntimeError: DataLoader worker (pid 15876) is killed by signal: Killed. ", "strata run -- COMMAND"),
    ("zsh, of a job", "[1]  + 12345 killed     python train.py", "run it with \"strata run -- COMMAND\", which watches the host's memory (offset 0)"),
    ("PyTorch, DataLoader", "RuntimeError: DataLoader worker (pid(s) 3216) exited unexpectedly", "nor a log with lines about memory"),
    ("JSON that is no log", '{"a": "CUDA out of memory. Tried to allocate 2.00 GiB"}', "this JSON is not a memory snapshot"),
)

# What the samples above say, by device: first, highest and last of each level, as printed. Terms are added up; what stands behind a stroke is
# the unit that the text does not print beside the figure, or another than its letters (GB of 10^9 bytes).
GB = "|1e9"
SAYS = {
    "hf_trainer": {0: {"allocated": ("0MB", "0MB + 230MB + 693MB + 4660MB", "0MB + 230MB + 693MB + -3MB")}},
    "hf_trainer_dict": {0: {"allocated": ("4747206656|1 + 126487040|1", "4747206656|1 + 126487040|1 + 11016635392|1", "4747206656|1 + 126487040|1")}},
    "hf_trainer_changes": None,
    "torchrec": {0: {"allocated": ("1.01 GB",) * 3, "reserved": ("2.04 GB",) * 3}},
    "colossal": {0: {"allocated": ("15049.66 MB", "30518.42 MB", "30518.42 MB")}},
    "nanogpt": {0: {"allocated": ("31014 MiB",) * 3, "reserved": ("45712 MiB",) * 3}},
    "nemo": {0: {"allocated": ("42949672960|1",) * 3, "reserved": ("66022539264|1",) * 3}},
    "megatron_bridge": {rank: {"allocated": (now + GB, most + GB, now + GB), "reserved": (reserved + GB,) * 3}
                        for rank, now, most, reserved in ((1, "63.66", "153.4", "182.2"), (2, "61.881", "153.47", "182.24"))},
    "verl": {0: {"allocated": ("14.19|GB", "45.236|GB", "45.236|GB"), "reserved": ("16.04|GB", "58.457|GB", "58.457|GB"), "device": ("18.40|GB",) * 3,
                 "capacity": "79.15|GB"}},
    "axolotl": {0: {"allocated": ("7.565GB", "9.120GB", "9.120GB"), "reserved": ("7.565GB + 0.126GB", "9.120GB + 12.504GB", "9.120GB + 12.504GB"),
                    "device": ("7.565GB + 0.126GB + 0.788GB", "9.120GB + 12.504GB + 0.788GB", "9.120GB + 12.504GB + 0.788GB")}},
    "trl": {0: {"allocated": ("21.34|GB",) * 3, "reserved": ("25.41|GB",) * 3}},
    "lightning": {0: {"allocated": ("11934720|1", "5123.24MiB", "5123.24MiB"), "reserved": ("41943040|1",) * 3}},
    "habana": {0: {"allocated": ("3.82|GB", "6.41|GB", "6.41|GB"), "capacity": "29.85|GB"}},
    "mlx": {0: {"allocated": ("12.345" + GB, "12.345" + GB, "4.381" + GB)}},
    "unsloth": {0: {"reserved": ("5.496 GB", "7.926 GB", "7.926 GB"), "capacity": "14.741 GB"}},
    "rocm_smi": {0: {"device": ("12863091968|1",) * 3, "capacity": "17163091968|1"}, 1: {"device": ("10850304|1",) * 3, "capacity": "17163091968|1"}},
    "npu_smi": {0: {"device": ("3352|MB",) * 3, "capacity": "65536|MB"}, 1: {"device": ("61223|MB",) * 3, "capacity": "65536|MB"}},
    "torchtitan_warnings": {0: {"reserved": ("1.61GiB",) * 3, "capacity": "95.00GiB"}},
    "analyze_gpu_usage": {0: {"allocated": ("12.34 GB",) * 3, "reserved": ("16.50 GB",) * 3, "capacity": "24.00 GB"}},
    "profile_memory_usage": {0: {"allocated": ("2048.50 MB",) * 3}},
    "key_averages": None,
    "time_v": {-1: {"host": ("5123456|KB",) * 3}},
    "time_f": {-1: {"host": ("5123456|KB", "6123456|KB", "6123456|KB")}},
    "cgmemtime": {-1: {"host": ("10752 KiB",) * 3}},
    "kill_kernel": {-1: {"host": ("16777216kB", "16777216kB", "16720000kB")}},
}

# Budgets of servers likewise, and of out-of-memory errors (cause, asked, free, allocated, allowed).
PLANS = {
    "server_vllm_v1": {"total": "79.19 GiB", "usable": "71.27 GiB", "weights": "14.99 GiB", "activations": "5.64 GiB", "non_torch": "0.09 GiB", "graphs": "0.55 GiB",
                       "kv_cache": "50.55 GiB"},
    "server_tensorrt": {"weights": "13814 MiB", "activations": "1208.02 MiB", "total": "79.10 GiB", "available": "61.25 GiB", "kv_cache": "55.13 GiB"},
    "server_tensorrt_torch": {"kv_cache": "41.11 GiB", "total": "139.81 GiB"},
    "server_tgi": {"available": "52.31" + GB},
}
ERRORS = {
    "error_npu_workspace": ("in_use", "180.00 MiB", "89.51 MiB", None, None),
    "error_jax_lines": ("unknown", "8.00GiB", None, None, None),
    "error_tensorflow": ("limit", "1.17GiB", None, "9824735232|1", "10357794407|1"),
    "error_tpu": ("in_use", "10.50|GB", "5.25|GB", None, None),
    "error_comfy": ("unknown", None, None, None, None),
    "server_vllm_refused": ("in_use", "21.28 GiB", "3.21|GB", None, None),
}
