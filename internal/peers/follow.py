#!/usr/bin/env python3
"""Makes the run that `go run ./internal/peers/opticks -out DIR` made, in PyTorch, and compares.

  follow.py DIR [DIR ...]

Loads the step-0 checkpoint (a Hugging Face GPT-2 directory) and the batches from DIR, trains the same number of
steps in float32 (forward, cross entropy, backward, clip, AdamW with decay groups, the same learning rates), and
evaluates the same validation windows. Prints one line a directory: the largest difference of the losses of the
first 100 steps and the final validation losses. Exit 1 if a loss is more than 1e-4 off or the final validation
loss more than 0.02 nats. Writes DIR/torch.json. Needs torch, numpy and safetensors.
"""
import json, math, os, sys
import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

torch.set_num_threads(2)


def forward(w, ids, layers, heads):
    n, width = ids.shape[1], w["transformer.wte.weight"].shape[1]
    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][:n]
    for i in range(layers):
        p = f"transformer.h.{i}."
        h = F.layer_norm(x, (width,), w[p + "ln_1.weight"], w[p + "ln_1.bias"], 1e-5)
        q, k, v = (h @ w[p + "attn.c_attn.weight"] + w[p + "attn.c_attn.bias"]).split(width, -1)
        q, k, v = (t.view(t.shape[0], n, heads, -1).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + y @ w[p + "attn.c_proj.weight"] + w[p + "attn.c_proj.bias"]
        h = F.layer_norm(x, (width,), w[p + "ln_2.weight"], w[p + "ln_2.bias"], 1e-5)
        h = F.gelu(h @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"], approximate="tanh")
        x = x + h @ w[p + "mlp.c_proj.weight"] + w[p + "mlp.c_proj.bias"]
    x = F.layer_norm(x, (width,), w["transformer.ln_f.weight"], w["transformer.ln_f.bias"], 1e-5)
    return x @ w["transformer.wte.weight"].T


def validation_loss(w, ids, block, layers, heads):
    """Mean over all targets of the split, in windows that do not overlap."""
    total = 0.0
    with torch.no_grad():
        for at in range(0, len(ids) - 1, block):
            n = min(block, len(ids) - 1 - at)
            x, y = ids[at : at + n][None], ids[at + 1 : at + n + 1]
            total += F.cross_entropy(forward(w, x, layers, heads)[0], y, reduction="sum").item()
    return total / (len(ids) - 1)


def follow(d):
    run = json.load(open(os.path.join(d, "run.json")))
    start = os.path.join(d, "checkpoints", "step-000000")
    config = json.load(open(os.path.join(start, "config.json")))
    layers, heads, block = config["n_layer"], config["n_head"], run["block"]
    w = {k: v.requires_grad_(True) for k, v in load_file(os.path.join(start, "model.safetensors")).items()}
    rows = np.fromfile(os.path.join(d, "batches.i32"), dtype="<i4").astype(np.int64)
    rows = torch.from_numpy(rows.reshape(run["steps"], run["batch"], block + 1))
    valid = torch.from_numpy(np.fromfile(os.path.join(d, "validation.i32"), dtype="<i4").astype(np.int64))
    opt = torch.optim.AdamW(
        [{"params": [t for t in w.values() if t.dim() > 1], "weight_decay": run["weight_decay"]},
         {"params": [t for t in w.values() if t.dim() < 2], "weight_decay": 0.0}],
        betas=(run["beta1"], run["beta2"]), eps=run["epsilon"])
    losses, validation = [], []
    for i in range(run["steps"]):
        if i in run["validation_at"]:
            validation.append(validation_loss(w, valid, block, layers, heads))
        for g in opt.param_groups:
            g["lr"] = run["rates"][i]
        opt.zero_grad()
        loss = F.cross_entropy(forward(w, rows[i, :, :-1], layers, heads).flatten(0, 1), rows[i, :, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(w.values()), run["clip"])
        opt.step()
        losses.append(loss.item())
    validation.append(validation_loss(w, valid, block, layers, heads))
    json.dump({"torch": torch.__version__, "losses": losses, "validation": validation}, open(os.path.join(d, "torch.json"), "w"))
    first = max(abs(a - b) for a, b in zip(losses[:100], run["losses"][:100]))
    ours, theirs = run["validation"][-1], validation[-1]
    good = first <= 1e-4 and abs(ours - theirs) <= 0.02
    print(f"seed {run['seed']}: first 100 losses within {first:.1e}; validation after {run['steps']} steps "
          f"{ours:.4f} tinylm, {theirs:.4f} torch {torch.__version__}; {'agree' if good else 'DIFFER'}")
    return good


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(0 if all([follow(d) for d in sys.argv[1:]]) else 1)
