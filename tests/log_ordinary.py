"""Ordinary lines of training and serving, without a level, a budget or an error of PyTorch's memory: 200 of each framework, in the
words of its logger, with changing figures. Many have sizes, devices and words such as "memory": nothing may be read from them.
"""

import random

# {n}: a number; {f}: one with decimals; {g}: gigabytes; {p}: a percentage; {t}: seconds and minutes of a time.
TEMPLATES = {
    "PyTorch": """{n} worker processes, shared memory limit is {n} MB, pin_memory=True
[W{n:04} 10:{t}.123 CUDAAllocatorConfig.h:30] Warning: expandable_segments not supported on this platform (function operator())
UserWarning: The given NumPy array is not writable; {g} GB of host buffers are kept
Epoch [{n}][{n}/1736] Loss {f} MAE {f} Time {f} Data {f} Mem-free
eta: 1:{t}  time: {f}  data_time: {f}  lr: {f}  memory is fine, loss: {f}
[rank{n}]: TORCH_NCCL_ASYNC_ERROR_HANDLING=1, timeout {n} s, heartbeat {n}
[rank{n}]:[W{n:04} ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank {n}]  using GPU {n} to perform barrier as devices used by this process are currently unknown.
E{n:04} torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: 1) local_rank: {n} (pid: {n}) of binary: /usr/bin/python
  File "/home/you/train.py", line {n}, in main
    loss = model(batch).sum() / {n}  # memory
ValueError: expected {n} channels, got {n}
saved checkpoint-{n} ({g} GB) in {f} s, {f} GB/s; peak learning rate {f}
torch.compile: {n} graph breaks, cache size limit {n}, recompiled {n} times
param {n}M, buffers {n} MB, gradients of {n} tensors, {f} GB of activations are expected
Using device cuda:{n}, NVIDIA A100-SXM4-80GB, capability 8.0, {n} SMs
to avoid an out of memory error, batch_size was set to {n} by the user""",
    "transformers": """[INFO|trainer.py:2128] >> ***** Running training *****   Num examples = {n},000   Num Epochs = {n}
{{'loss': {f}, 'grad_norm': {f}, 'learning_rate': 1e-05, 'epoch': {f}}}
{{'train_runtime': {f}, 'train_samples_per_second': {f}, 'train_steps_per_second': {f}, 'train_loss': {f}, 'epoch': {f}}}
[INFO|modeling_utils.py:3553] loading weights file model.safetensors from cache at /data/{n}
Loading checkpoint shards:  {p}%|████      | {n}/{n} [00:{n}<00:12, {f}s/it]
 {p}%|████▌     | {n}/450 [00:12<00:14, {f}it/s, loss={f}]
[WARNING|logging.py:329] Setting `pad_token_id` to `eos_token_id`:{n} for open-end generation.
The model is {g} GB; device_map={{'': {n}}}; max_memory={{0: '{n}GiB', 'cpu': '{n}GiB'}}
We will use 90% of the memory on device {n} for storing the model, and 10% for the buffer to avoid OOM.
trainable params: {n},815,744 || all params: {n},449,419,776 || trainable%: {f}
Saving model checkpoint to out/checkpoint-{n}; {g}GB free on disk
Batch size {n} failed, trying batch size {n}
ValueError: Unable to create tensor {n}, you should probably activate truncation with 'padding=True'
bitsandbytes: {n}-bit optimizer, memory efficient, page size {n} MB
{{'eval_loss': {f}, 'eval_runtime': {f}, 'eval_samples_per_second': {f}, 'epoch': {f}}}
gradient checkpointing saves memory: {n} layers of {n}""",
    "DeepSpeed": """[2024-05-01 10:{t},123] [INFO] [logging.py:96:log_dist] [Rank 0] step={n}, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]
[2024-05-01 10:{t},123] [INFO] [stage_1_and_2.py:149:__init__] Reduce bucket size {n}00000000
[2024-05-01 10:{t},123] [INFO] [stage_1_and_2.py:150:__init__] Allgather bucket size {n}00000000
[2024-05-01 10:{t},123] [INFO] [config.py:1000:print]   activation_checkpointing_config  {{"partition_activations": false, "cpu_checkpointing": false, "number_checkpoints": {n}}}
[2024-05-01 10:{t},123] [INFO] [config.py:1000:print]   memory_breakdown ............. False
[2024-05-01 10:{t},123] [INFO] [timer.py:199:stop] epoch=0/micro_step={n}/global_step={n}, RunningAvgSamplesPerSec={f}, CurrSamplesPerSec={f}
[2024-05-01 10:{t},123] [INFO] [logging.py:77:log_dist] [Rank 0] rank=0 time (ms) | forward: {f} | backward: {f} | backward_inner: {f} | step: {f}
[2024-05-01 10:{t},123] [INFO] [utils.py:30:print_object] AsyncPartitionedParameterSwapper: buffer {g} GB, {n} available
Estimated memory needed for params, optim states and gradients for a: HW: Setup with {n} node, {n} GPUs per node.
  per CPU  |  per GPU |   Options    {f}GB |   {f}GB | offload_param=cpu
Time to load cpu_adam op: {f} seconds, {n} MB
[2024-05-01 10:{t},123] [INFO] [partition_parameters.py:345:__exit__] finished initializing model - num_params = {n}, num_elems = {f}B
[2024-05-01 10:{t},123] [WARNING] [stage3.py:1850] gradient overflow, loss scale {n}, reducing to {n}
[2024-05-01 10:{t},123] [INFO] [launch.py:319:sigkill_handler] Killing subprocess {n}
[2024-05-01 10:{t},123] [ERROR] [launch.py:325:sigkill_handler] exits with return code = 1
[2024-05-01 10:{t},123] [INFO] [comm.py:652:init_distributed] Initializing TorchBackend in DeepSpeed with backend nccl, rank {n}""",
    "Megatron-LM": """ iteration {n:8}/ 500000 | consumed samples: {n}00 | elapsed time per iteration (ms): {f} | learning rate: 1.5E-04 | global batch size: 256 | lm loss: {f}E+00 | loss scale: 1.0 |
 > number of parameters on (tensor, pipeline) model parallel rank (0, {n}): {n}000000
Theoretical memory footprints: weight and optimizer={f} MB, activation={f} MB, total={f} MB
Number of parameters in transformer block in billions:  {f}
 > building train, validation, and test datasets for GPT ... {g} GB of indices, {n} documents
time (ms) | forward: {f} | backward: {f} | optimizer: {f} | batch generator: {f}
saving checkpoint at iteration {n} to /ckpt in torch_dist format, {g} GB
WARNING: one-logger package is required to enable e2e metrics tracking, rank {n}
using world size: {n}, data-parallel size: {n}, context-parallel size: {n}, memory-efficient linear
  recompute_granularity ........................... selective {n}
  distribute_saved_activations .................... False {n}
  empty_unused_memory_level ....................... {n}
(min, max) time across ranks (ms): forward-backward {f} {f} interval-time {f}
MCore: buckets of {n} MB, allocated for params in group {n}
[after dataloaders are built] datetime: 2024-05-01 10:{t}
rank {n}: throughput per GPU (TFLOP/s/GPU): {f}, reserved name: node{n}""",
    "Lightning": """Epoch {n}:  {p}%|████▌     | {n}/450 [00:12<00:14, {f}it/s, v_num=0, train_loss={f}]
GPU available: True (cuda), used: True, TPU available: False, using: {n} TPU cores
LOCAL_RANK: {n} - CUDA_VISIBLE_DEVICES: [0,1,2,{n}]
{n} | model | Net | {f} M | train
{f} M    Trainable params, {f} M Non-trainable params, {f} Total estimated model params size (MB)
Batch size {n} succeeded, trying batch size {n}
Finished batch size finder, will continue with full run using batch size {n}
`Trainer.fit` stopped: `max_epochs={n}` reached.
Sanity Checking DataLoader 0: {p}%|████| {n}/2 [00:00<00:00, {f}it/s]
Metric val_loss improved by {f} >= min_delta = 0.0. New best score: {f}
the 'val_dataloader' does not have many workers; consider num_workers={n}, more shared memory or {n} GB of RAM
initializing distributed: GLOBAL_RANK: {n}, MEMBER: {n}/8
[rank: {n}] Seed set to {n}
Restoring states from the checkpoint path at ckpt-{n}.ckpt ({g} GB)
Average Epoch time: {f} seconds
train/loss {f} train/acc {f} gpu_stats off, peak lr {f}""",
    "NeMo": """[NeMo I 2024-05-01 10:{t} megatron_base_model:{n}] Padded vocab_size: {n}, original vocab_size: {n}, dummy tokens: {n}.
[NeMo W 2024-05-01 10:{t} nemo_logging:349] UserWarning: {n} workers are too few, memory map of {g} GB
Training epoch 0, iteration {n}/99 | lr: {f}e-06 | global_batch_size: 512 | global_step: {n} | reduced_train_loss: {f} | train_step_timing in s: {f} | consumed_samples: {n}
[NeMo I 2024-05-01 10:{t} exp_manager:{n}] Experiments will be logged at /results/{n}
Rank {n}: prefetch of {n} MB; buffers allocated for {n} samples
[NeMo I 2024-05-01 10:{t} perf_metrics] TFLOPs per sec per GPU={f}
Model parallel size {n}: {f} B parameters, {g} GB in bf16
▶ Generating responses for batch of size {n}...
(MegatronPolicyWorker[rank={n}] pid={n}) [Rank {n}] Suspended inference engine [repeated 15x across cluster]
Total step time: {f}s, policy_training: {f}s, refit of {g} GB at {f} GB/s
Validation DataLoader 0: {p}%|████| {n}/20
[NeMo I 2024-05-01 10:{t} checkpoint] Async save of {g} GB done in {f} s
[NeMo I 2024-05-01 10:{t} mixin] Setting CUDA_DEVICE_MAX_CONNECTIONS to {n}
step {n} | loss {f} | tokens/s {n}000 | memory pinned {n} | shards {n}
GPU utilization: {f}, Step Time : {f}s GPU utilization
grad norm: {f}, max memory of the sampler: {n} samples""",
    "torchtitan": """[rank0]:2025-02-01 10:{t},000 - root - INFO - Model llama3 8B size: {n},030,261,248 total parameters
[rank0]:2025-02-01 10:{t},000 - root - INFO - Applied selective activation checkpointing to the model, {n} layers
[rank0]:2025-02-01 10:{t},000 - root - INFO - Peak FLOPS used for computing MFU: {f}e+14
[rank0]:2025-02-01 10:{t},000 - root - INFO - Trainer is initialized with local batch size {n}, global batch size {n}, sequence length {n}
[rank0]:2025-02-01 10:{t},000 - root - INFO - [GC] Performing periodic GC collection took {f} seconds
[rank0]:2025-02-01 10:{t},000 - root - INFO - Saving the checkpoint took {f} seconds, {g} GiB
[rank0]:2025-02-01 10:{t},000 - root - INFO - TensorBoard logging enabled. Logs will be saved at ./tb/{n}
[rank0]:2025-02-01 10:{t},000 - root - INFO - Building 2-D device mesh with ['dp', 'tp'], [{n}, {n}]
[rank0]:2025-02-01 10:{t},000 - root - WARNING - the dataset is {g} GB; memory mapping it
[titan] 2026-02-24 10:{t},996 - root - INFO - Profiling active. Traces will be saved at profile_trace/{n}
[titan] 2026-02-24 10:{t},996 - root - INFO - Preparing c4 dataset: {n} of {n}
[titan] 2026-02-24 10:{t},996 - root - INFO - tps: {n}, tflops: {f}, mfu: {f}%, time {f}
[titan] 2026-02-24 10:{t},996 - root - INFO - Finished dumping profiler traces in {f} seconds, {n} MB
[titan] 2026-02-24 10:{t},996 - root - INFO - memory_estimation: False, steps {n}
[titan] 2026-02-24 10:{t},996 - root - INFO - Sleeping {n} seconds for other ranks to complete
W{n:04} torch/_dynamo/convert_frame.py:{n}] torch._dynamo hit config.recompile_limit ({n})""",
    "verl and Ray": """(TaskRunner pid=11) step:{n} - actor/entropy:{f} - actor/grad_norm:{f} - perf/throughput:{f} - timing_s/gen:{f}
(WorkerDict pid=33{n}) local rank 0, NCCL version 2.20.5+cuda12.4 [repeated 7x across cluster]
(WorkerDict pid=33{n}) Qwen2ForCausalLM contains {f}B parameters
(WorkerDict pid=33{n}) kwargs: {{'n': {n}, 'max_tokens': {n}, 'gpu_memory_utilization': {f}}}
(raylet) [2025-04-02 10:{t},117 W 135782] file_system_monitor.cc:116: /tmp/ray is over 95% full, available space: {g} GB; capacity: {g} GB. Object creation will fail if spilling is required.
(raylet) A worker died or was killed while executing a task by an unexpected system error. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage.
(pid=gcs_server) [2025-04-02 10:{t}] gcs_server.cc:{n}: heartbeat {n}
Spilled {n} MiB, {n} objects, write throughput {f} MiB/s.
2025-04-02 10:{t},117 INFO worker.py:1832 -- Started a local Ray instance with {n} CPUs, {g} GiB object store memory
(autoscaler) Resized to {n} CPUs, {n} GPUs; {g}GiB memory requested
(RewardModel pid={n}) scored {n} samples in {f} s, mean {f}
(main_task pid={n}) {{'data': {{'train_batch_size': {n}, 'max_prompt_length': {n}}}, 'memory': 'default'}}
Training Progress:  {p}%|████| {n}/435 [1:{t}<2:00:00, {f}s/it]
(WorkerDict pid=33{n}) Total steps: {n}, num_warmup_steps: {n}
(WorkerDict pid=33{n}) wrap_policy: functools.partial, min_num_params={n}, reserved words {n}
(TaskRunner pid=11) Size of train dataloader: {n}, {g} GB of parquet""",
    "vLLM": """INFO 05-06 10:{t} [loggers.py:111] Engine 000: Avg prompt throughput: {f} tokens/s, Running: {n} reqs, Waiting: {n} reqs, GPU KV cache usage: {p}%, Prefix cache hit rate: {f}%
INFO 05-06 10:{t} [weight_utils.py:315] Time spent downloading weights: {f} seconds, model size {g} GB on disk
(EngineCore_DP0 pid={n}) INFO 05-06 10:{t} [core.py:193] init engine (profile, create kv cache, warmup model) took {f} seconds
(EngineCore_DP0 pid={n}) INFO 05-06 10:{t} [kv_cache_utils.py:1319] Maximum concurrency for {n},072 tokens per request: {f}x
(Worker_TP1 pid={n}) INFO 05-06 10:{t} [gpu_worker.py:578] CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization={f} is equivalent to --gpu-memory-utilization={f} without CUDA graph memory profiling.
(Worker_TP1 pid={n}) INFO 05-06 10:{t} [gpu_model_runner.py:6681] Profiling CUDA graph memory: PIECEWISE={n} (largest={n})
INFO 05-06 10:{t} [monitor.py:34] torch.compile takes {f} s in total
INFO 05-06 10:{t} [executor_base.py:189] It took {f} seconds to fall asleep.
INFO 05-06 10:{t} [executor_base.py:205] It took {f} seconds to wake up tags {{'weights', 'kv_cache'}}.
Capturing CUDA graph shapes: {p}%|██████| {n}/67 [00:20<00:00, {f}it/s]
INFO 05-06 10:{t} [config.py:600] This model supports multiple tasks; max_model_len={n}, gpu_memory_utilization={f}
WARNING 05-06 10:{t} [scheduler.py:1560] Sequence group {n} is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. total_num_cumulative_preemption={n}
INFO 05-06 10:{t} [block_pool.py:378] Successfully reset prefix cache {n}
INFO:     127.0.0.1:{n} - "POST /v1/chat/completions HTTP/1.1" 200 OK
WARNING 05-06 10:{t} [interface.py:382] Using 'pin_memory=False' as WSL is detected. This may slow down the performance. {n}
INFO 05-06 10:{t} [cpu_offload] swap space {n} GiB per GPU, cpu_offload_gb={n}""",
    "SGLang, axolotl and clusters": """[2025-06-01 10:{t} TP0] Decode batch. #running-req: {n}, #token: {n}000, token usage: 0.{n}, gen throughput (token/s): {f}
[2025-06-01 10:{t} TP0] Prefill batch. #new-seq: {n}, #new-token: {n}, #cached-token: {n}, token usage: {f}, #queue-req: {n}
[2025-06-01 10:{t} TP0] KV cache pool is full. Retract requests. #retracted_reqs: {n}, new_token_ratio: {f} -> {f}
[2025-06-01 10:{t} TP0] Capture cuda graph bs [1, 2, 4, 8, {n}]
[2025-06-01 10:{t} TP0] server_args=ServerArgs(mem_fraction_static={f}, chunked_prefill_size={n}, max_total_tokens=None)
[2025-06-01 10:{t}] The server is fired up and ready to roll! {n}
[2025-06-01 10:{t}] [INFO] [axolotl.utils.samplers.multipack._len_est:178] [PID:{n}] [RANK:{n}] packing_efficiency_estimate: {f} total_num_tokens per device: {n}
[2025-06-01 10:{t}] [INFO] [axolotl.load_tokenizer:{n}] [PID:{n}] EOS: {n} / </s>, {n} MB
srun: job {n} queued and waiting for resources; --mem={n}G per node
slurmstepd: error: *** STEP {n}.0 ON gpu20-15 CANCELLED AT 2022-05-17T10:{t} DUE TO TIME LIMIT ***
JobId={n} JobState=RUNNING Reason=None ReqMem={n}G AllocTRES=cpu={n},mem={n}G,gres/gpu=8
pod/train-0 0/1 Running {n} {n}m; limits: memory: {n}Gi, requests: memory: {n}Gi
container exited with code 0 after {n} s; "OOMKilled": false, {n}
nvidia-smi says driver 535.{n}, CUDA Version: 12.2; process {n} exited with exit code 0
wandb: Run summary: train/loss {f}, system/gpu.0.memory off, _step {n}
dmesg: nvidia 0000:4e:00.0: enabling device, BAR {n} of {n} MB""",
}


class Varied(dict):
    def __init__(self, source):
        super().__init__()
        self.source = source

    def __missing__(self, name):
        source = self.source
        return {"n": lambda: source.choice((source.randrange(10), source.randrange(1000), source.randrange(100000))), "f": lambda: round(source.uniform(0, 100), source.choice((1, 2, 4))),
                "g": lambda: round(source.uniform(0, 160), source.choice((0, 1, 2))), "p": lambda: source.randrange(101), "t": lambda: f"{source.randrange(60):02}:{source.randrange(60):02}"}[name]()


class Each:
    """A figure that differs at each place of a template."""

    def __init__(self, varied, name):
        self.varied, self.name = varied, name

    def __format__(self, spec):
        return format(self.varied[self.name], spec)


def lines(n=200, seed=7):
    """{framework: n lines}"""
    varied = Varied(random.Random(seed))
    figures = {name: Each(varied, name) for name in "nfgpt"}
    found = {}
    for framework, text in TEMPLATES.items():
        templates = text.split("\n")
        found[framework] = [templates[i % len(templates)].format(**figures) for i in range(n)]
    return found
