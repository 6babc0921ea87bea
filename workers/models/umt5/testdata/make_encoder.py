"""Makes encoder.safetensors: a small UMT5 encoder with random weights, under the names of transformers, and what float64 makes of some
tokens with it. Needs numpy: python3 make_encoder.py. Config: testdata/config.json."""
import json, os, struct
import numpy as np
HERE = os.path.dirname(os.path.abspath(__file__))
C = json.load(open(os.path.join(HERE, "config.json")))
D, H, W, F, L, V, B, M = (C[k] for k in ("d_model", "num_heads", "d_kv", "d_ff", "num_layers", "vocab_size", "relative_attention_num_buckets",
                                         "relative_attention_max_distance"))
g = np.random.default_rng(20261201)
def bf16(x):
    u = np.asarray(x, np.float32).view(np.uint32); return ((u + 0x7fff + (u >> 16 & 1)) >> 16).astype(np.uint16)
def wide(b): return (b.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
raw = {"shared.weight": bf16(g.normal(0, 1, (V, D))), "encoder.final_layer_norm.weight": bf16(1 + .1 * g.normal(size=D))}
for i in range(L):
    p = f"encoder.block.{i}.layer."
    for n, s in (("q", (D * W) ** -.5 * 4), ("k", D ** -.5), ("v", D ** -.5)): raw[p + f"0.SelfAttention.{n}.weight"] = bf16(g.normal(0, s, (H * W, D)))
    raw[p + "0.SelfAttention.o.weight"] = bf16(g.normal(0, (H * W) ** -.5, (D, H * W)))
    raw[p + "0.SelfAttention.relative_attention_bias.weight"] = bf16(g.normal(0, 1.5, (B, H)))
    raw[p + "0.layer_norm.weight"], raw[p + "1.layer_norm.weight"] = bf16(1 + .1 * g.normal(size=D)), bf16(1 + .1 * g.normal(size=D))
    raw[p + "1.DenseReluDense.wi_0.weight"], raw[p + "1.DenseReluDense.wi_1.weight"] = bf16(g.normal(0, D ** -.5, (F, D))), bf16(g.normal(0, D ** -.5, (F, D)))
    raw[p + "1.DenseReluDense.wo.weight"] = bf16(g.normal(0, F ** -.5, (D, F)))
w = {k: wide(v) for k, v in raw.items()}
def norm(x, k): return x / np.sqrt((x * x).mean(-1, keepdims=True) + C["layer_norm_epsilon"]) * w[k]
def place(rel, buckets=B, distance=M):        # key minus query -> bucket
    half = buckets // 2; out = half if rel > 0 else 0; rel = abs(rel); exact = half // 2
    if rel < exact: return out + rel
    return out + min(half - 1, exact + int(np.float32(np.log(np.float32(rel / exact))) / np.float32(np.log(distance / exact)) * np.float32(half - exact)))
def encode(ids):
    n = len(ids); x = w["shared.weight"][ids]
    rel = np.array([[place(k - q) for k in range(n)] for q in range(n)])
    for i in range(L):
        p = f"encoder.block.{i}.layer."; a = norm(x, p + "0.layer_norm.weight")
        q, k, v = (np.einsum("nd,hd->nh", a, w[p + f"0.SelfAttention.{m}.weight"]).reshape(n, H, W) for m in "qkv")
        s = np.einsum("ihw,jhw->hij", q, k) + w[p + "0.SelfAttention.relative_attention_bias.weight"][rel].transpose(2, 0, 1)
        s = np.exp(s - s.max(-1, keepdims=True)); s /= s.sum(-1, keepdims=True)
        x = x + np.einsum("hij,jhw->ihw", s, v).reshape(n, H * W) @ w[p + "0.SelfAttention.o.weight"].T
        a = norm(x, p + "1.layer_norm.weight"); u = a @ w[p + "1.DenseReluDense.wi_0.weight"].T
        u = .5 * u * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + .044715 * u ** 3))) * (a @ w[p + "1.DenseReluDense.wi_1.weight"].T)
        x = x + u @ w[p + "1.DenseReluDense.wo.weight"].T
    return norm(x, "encoder.final_layer_norm.weight").astype(np.float32)
def save(name, tensors):
    head, data = {}, b""
    for k in sorted(tensors):
        t = tensors[k]; b = np.ascontiguousarray(t).tobytes(); head[k] = {"dtype": {"u": "BF16", "f": "F32", "i": "I32"}[t.dtype.kind], "shape": list(t.shape), "data_offsets": [len(data), len(data) + len(b)]}; data += b
    h = json.dumps(head).encode(); h += b" " * (-len(h) % 8)
    with open(os.path.join(HERE, name), "wb") as f: f.write(struct.pack("<Q", len(h)) + h + data)
save("encoder.safetensors", raw)
golden = {}
for n in (1, 16, 41): ids = g.integers(0, V, n).astype(np.int32); golden[f"ids.{n}"], golden[f"rows.{n}"] = ids, encode(ids)
save("features.safetensors", golden)
json.dump({f"{a},{b},{r}": place(r, a, b) for a, b in ((32, 128), (8, 20)) for r in range(-300, 301)}, open(os.path.join(HERE, "buckets.json"), "w"), indent=0)
