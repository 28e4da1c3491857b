"""What people write every day: train.py KIND"""
import copy
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Words(Dataset):
    def __init__(self, n=24, length=256, vocab=8000):
        self.n, self.length, self.vocab = n, length, vocab

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        ids = torch.full((self.length,), i % self.vocab)
        return {"input_ids": ids, "labels": ids}


def gpt2(**more):
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=512, n_head=8, vocab_size=8000, n_positions=512, **more))


def llama(layers=4, **more):
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(vocab_size=8000, hidden_size=512, intermediate_size=1408, num_hidden_layers=layers, num_attention_heads=8,
                                        num_key_value_heads=4, max_position_embeddings=1024, **more))


def trainer():
    """Hugging Face's Trainer with evaluation."""
    from transformers import Trainer, TrainingArguments
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, per_device_train_batch_size=8, per_device_eval_batch_size=8, max_steps=4, report_to=[], save_strategy="no",
                                      eval_strategy="steps", eval_steps=2, logging_steps=100, disable_tqdm=True, dataloader_pin_memory=False)
        Trainer(gpt2(), arguments, train_dataset=Words(), eval_dataset=Words(8)).train()


def trainer_lora():
    """peft's LoRA of a Llama from a file, by Trainer, in bfloat16, with checkpointing."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
    with tempfile.TemporaryDirectory() as folder:
        llama().save_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, device_map={"": 0})
        model.enable_input_require_grads()
        model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
        arguments = TrainingArguments(folder, per_device_train_batch_size=4, gradient_accumulation_steps=2, max_steps=3, report_to=[], save_strategy="no",
                                      gradient_checkpointing=True, bf16=True, logging_steps=100, disable_tqdm=True, dataloader_pin_memory=False)
        Trainer(model, arguments, train_dataset=Words(96)).train()


def ddp():
    """DistributedDataParallel, one process."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel, distributed
    distributed._verify_param_shape_across_processes = lambda *a, **k: None  # the stand-in has no values to compare
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = DistributedDataParallel(gpt2().cuda(), device_ids=[0])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for batch in DataLoader(Words(), batch_size=6):
        batch = {k: v.to("cuda", non_blocking=True) for k, v in batch.items()}  # truth: inputs
        loss = model(**batch, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.)
        optimizer.step()


def compiled():
    """torch.compile, as far as it goes without Triton."""
    model = nn.Sequential(*[nn.Sequential(nn.LayerNorm(512), nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(4)]).cuda()
    model = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(4):
        x = torch.randn(2048, 512, device="cuda")  # truth: inputs
        y = torch.randn(2048, 512, device="cuda")  # truth: inputs
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def cached():
    """A server: prefill and decode with transformers' cache, weights in half precision."""
    from transformers import DynamicCache
    model = llama().half().to("cuda").eval()
    with torch.inference_mode():
        for request in range(2):
            ids = torch.full((8, 384), 5).cuda()  # truth: inputs
            cache, out = DynamicCache(), []
            for _ in range(24):
                done = model(input_ids=ids, past_key_values=cache, use_cache=True)
                ids = done.logits[:, -1].argmax(-1, keepdim=True)
                out.append(ids)
            print(torch.cat(out, 1).shape)


class Cached(nn.Module):
    """A block with room for its keys and values, made once."""

    def __init__(self, dim, heads, batch, length):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.register_buffer("keys", torch.zeros(batch, heads, length, dim // heads), persistent=False)
        self.register_buffer("values", torch.zeros(batch, heads, length, dim // heads), persistent=False)

    def forward(self, x, at):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.keys[:, :, at:at + t], self.values[:, :, at:at + t] = k, v
        y = F.scaled_dot_product_attention(q, self.keys[:, :, :at + t], self.values[:, :, :at + t])
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(x)))


def static_cache():
    blocks = nn.ModuleList(Cached(512, 8, 8, 640) for _ in range(6)).to("cuda", torch.bfloat16)
    embed, head = nn.Embedding(8000, 512, device="cuda", dtype=torch.bfloat16), nn.Linear(512, 8000, device="cuda", dtype=torch.bfloat16)

    @torch.inference_mode()
    def step(ids, at):
        x = embed(ids)
        for block in blocks:
            x = block(x, at)
        return head(x[:, -1]).argmax(-1, keepdim=True)
    ids = torch.zeros(8, 512, dtype=torch.long, device="cuda")  # truth: inputs
    at = 0
    for _ in range(32):
        new = step(ids, at)
        at += ids.size(1)
        ids = new


class Pictures(Dataset):
    def __init__(self, n=96):
        self.data = np.zeros((n, 3, 64, 64), np.float32)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return torch.from_numpy(self.data[i]), i % 10


class Prefetcher:
    """Copies the next batch while this one is worked on."""

    def __init__(self, loader):
        self.loader, self.stream = iter(loader), torch.cuda.Stream()
        self.preload()

    def preload(self):
        try:
            x, y = next(self.loader)
        except StopIteration:
            self.batch = None
            return
        with torch.cuda.stream(self.stream):
            self.batch = x.cuda(non_blocking=True), y.cuda(non_blocking=True)  # truth: inputs

    def __iter__(self):
        while self.batch is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
            batch = self.batch
            self.preload()
            yield batch


def resnet():
    """torchvision's ResNet-18 in float16 with a scaler; batches from a prefetching loader."""
    from torchvision.models import resnet18
    net = resnet18(num_classes=10).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=.1, momentum=.9, weight_decay=1e-4)
    scaler = torch.amp.GradScaler()
    for x, y in Prefetcher(DataLoader(Pictures(), batch_size=32)):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    net.eval()
    with torch.no_grad():
        for x, y in DataLoader(Pictures(64), batch_size=32):
            x = x.to("cuda")  # truth: inputs
            net(x)


def evaluate():
    """An encoder that only evaluates; scores are collected on the host."""
    from transformers import BertConfig, BertForSequenceClassification
    model = BertForSequenceClassification(BertConfig(vocab_size=8000, hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048))
    model.to("cuda").eval()
    scores = []
    for batch in DataLoader(Words(64), batch_size=16):
        ids = batch["input_ids"].to("cuda")  # truth: inputs
        with torch.no_grad():
            scores.append(model(input_ids=ids).logits.float().cpu())
    print(len(scores))


class Tied(nn.Module):
    def __init__(self, vocab=8000, dim=512, layers=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, 8, 4 * dim, batch_first=True, norm_first=True), layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(256), persistent=False)

    def forward(self, ids):
        return self.head(self.body(self.embed(ids), mask=self.mask[:ids.size(1), :ids.size(1)]))


def tied():
    """Tied weights, accumulation, an averaged model."""
    model = Tied().to("cuda")
    averaged = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(.999))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    tokens = torch.from_numpy(np.zeros((64, 257), np.int64)).to("cuda")  # truth: inputs
    for step in range(3):
        for micro in range(4):
            rows = tokens[torch.randperm(64, device="cuda")[:8]]  # truth: inputs
            logits = model(rows[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten()) / 4
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        averaged.update_parameters(model)


def seq2seq():
    """T5 with Adafactor and gradient checkpointing."""
    from transformers import T5Config, T5ForConditionalGeneration
    from transformers.optimization import Adafactor
    model = T5ForConditionalGeneration(T5Config(vocab_size=8000, d_model=512, d_kv=64, d_ff=1024, num_layers=4, num_heads=8, decoder_start_token_id=0)).cuda()
    model.gradient_checkpointing_enable()
    model.train()
    optimizer = Adafactor(model.parameters(), lr=1e-3, scale_parameter=False, relative_step=False)
    for batch in DataLoader(Words(24), batch_size=6):
        batch = {k: v.cuda() for k, v in batch.items()}  # truth: inputs
        model(**batch).loss.backward()
        optimizer.step()
        model.zero_grad()


def resume():
    """Goes on from a checkpoint of model and optimizer."""
    def make():
        model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 10)).cuda()
        return model, torch.optim.RMSprop(model.parameters(), momentum=.9)

    def train(model, optimizer, steps):
        for step in range(steps):
            x, y = torch.randn(512, 1024).cuda(), torch.zeros(512, dtype=torch.long).cuda()  # truth: inputs
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        model, optimizer = make()
        train(model, optimizer, 2)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{folder}/last.pt")
        del model, optimizer
        checkpoint = torch.load(f"{folder}/last.pt", map_location="cuda")
    model, optimizer = make()
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    train(model, optimizer, 3)


def dpo():
    """Preferences: the policy and a frozen reference, made by a deep copy."""
    policy = llama(4).to("cuda")
    reference = copy.deepcopy(policy).eval().requires_grad_(False)
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-6)

    def logp(model, ids):
        logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
        return logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1).sum(-1)
    for step in range(4):
        chosen, rejected = (torch.full((4, 256), k, device="cuda") for k in (1, 2))  # truth: inputs
        with torch.no_grad():
            base = logp(reference, chosen) - logp(reference, rejected)
        loss = -F.logsigmoid(.1 * (logp(policy, chosen) - logp(policy, rejected) - base)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def speech():
    """A recurrent net over pictures of sound, with Adagrad, a list of batches on the device, and a OneCycleLR."""
    class Speech(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv1d(80, 256, 3, padding=1), nn.BatchNorm1d(256), nn.ReLU())
            self.rnn = nn.LSTM(256, 512, num_layers=2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(1024, 64)

        def forward(self, x):
            return self.head(self.rnn(self.conv(x).transpose(1, 2))[0])
    net = Speech().to(torch.device("cuda"))
    data = [(torch.zeros(16, 80, 64).to("cuda"), torch.zeros(16, dtype=torch.long).to("cuda")) for _ in range(6)]  # truth: inputs
    optimizer = torch.optim.Adagrad(net.parameters(), lr=.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    for x, y in data:
        loss = F.cross_entropy(net(x).mean(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def out_of_memory():
    """Ends in its first backward."""
    model = gpt2().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for batch in DataLoader(Words(64, 512), batch_size=32):
        ids = batch["input_ids"].cuda()  # truth: inputs
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def autoencoder():
    """A variational autoencoder of pictures on the device, updated by SGD without momentum; the last batch stays."""
    class Auto(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.ReLU(), nn.Conv2d(64, 128, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(128 * 256, 128))
            self.decoder = nn.Sequential(nn.Linear(64, 128 * 256), nn.Unflatten(1, (128, 16, 16)), nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(),
                                         nn.ConvTranspose2d(64, 3, 4, 2, 1))

        def encode(self, x):
            mean, log = self.encoder(x).chunk(2, 1)
            return mean + torch.randn_like(mean) * (log / 2).exp(), mean, log

        def forward(self, x):
            z, mean, log = self.encode(x)
            return self.decoder(z), mean, log
    net = Auto().cuda()
    pictures = torch.rand(256, 3, 64, 64, device="cuda")  # truth: inputs
    optimizer = torch.optim.SGD(net.parameters(), lr=.01)
    for epoch in range(2):
        for x in pictures.split(64):
            x = (x + .01 * torch.randn_like(x)).clamp(0, 1)  # truth: inputs
            again, mean, log = net(x)
            loss = F.mse_loss(again, x) + (mean.square() + log.exp() - log).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


globals()[sys.argv[1]]()
