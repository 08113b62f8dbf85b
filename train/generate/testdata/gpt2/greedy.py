#!/usr/bin/env python3
"""Writes greedy.json: greedy continuations by the GPT-2 beside this file, computed by PyTorch in float64.

Every new token is the arg max of the logits after the tokens of a window, at positions 0, 1, ... The window begins as
the last n_positions tokens of the prompt. When it is full, it becomes its last half, the newest token included.
"""
import json, math, os, random, struct
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
here = os.path.dirname(os.path.abspath(__file__))
config = json.load(open(os.path.join(here, "config.json")))
T, C, H, V = (config[k] for k in ("n_positions", "n_embd", "n_head", "vocab_size"))


def weights():
    raw = open(os.path.join(here, "model.safetensors"), "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header, data = json.loads(raw[8:8 + size]), raw[8 + size:]
    header.pop("__metadata__", None)
    return {name: torch.tensor(struct.unpack("<%df" % ((t["data_offsets"][1] - t["data_offsets"][0]) // 4),
                                             data[t["data_offsets"][0]:t["data_offsets"][1]])).reshape(t["shape"])
            for name, t in header.items()}


w = weights()


def last_logits(ids):
    n = len(ids)
    norm = lambda x, p: F.layer_norm(x, (C,), w[p + ".weight"], w[p + ".bias"], 1e-5)
    conv = lambda x, p: x @ w[p + ".weight"] + w[p + ".bias"]
    heads = lambda x: x.reshape(n, H, C // H).transpose(0, 1)
    hidden = torch.triu(torch.ones(n, n, dtype=torch.bool), 1)
    x = w["wte.weight"][torch.tensor(ids)] + w["wpe.weight"][:n]
    for i in range(config["n_layer"]):
        p = f"h.{i}."
        q, k, v = map(heads, conv(norm(x, p + "ln_1"), p + "attn.c_attn").split(C, -1))
        scores = (q @ k.transpose(-1, -2) / math.sqrt(C // H)).masked_fill(hidden, -1e9)
        x = x + conv((torch.softmax(scores, -1) @ v).transpose(0, 1).reshape(n, C), p + "attn.c_proj")
        x = x + conv(F.gelu(conv(norm(x, p + "ln_2"), p + "mlp.c_fc"), approximate="tanh"), p + "mlp.c_proj")
    return norm(x[-1:], "ln_f")[0] @ w["wte.weight"].T


def continuation(prompt, new):
    window, drawn, margin = prompt[-T:], [], math.inf
    for _ in range(new):
        best = torch.topk(last_logits(window), 2)
        margin = min(margin, float(best.values[0] - best.values[1]))
        drawn.append(int(best.indices[0]))
        window = (window + drawn[-1:])[-T // 2 if len(window) == T else 0:]
    return drawn, margin


cases = []
draw = random.Random(1)
for length in (1, 15, 16, 17, 500):
    while True:  # until no end-of-text (the last id) and no near tie comes up, but some variety
        prompt = [draw.randrange(V - 1) for _ in range(length)]
        new, margin = continuation(prompt, 100)
        if V - 1 not in new and margin > 1e-3 and len(set(new)) > 5:
            break
    cases.append({"prompt": prompt, "new": new})
json.dump(cases, open(os.path.join(here, "greedy.json"), "w"))
