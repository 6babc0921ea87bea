"""The networks of package wan in plain PyTorch, whole clips and one matrix at a time, to make golden files with.

    python reference.py golden .            makes golden_world.safetensors and golden_film.safetensors from weights that a seed gives, as
                                            package weights makes them
    python reference.py roll VAE DIT OUT    runs a model of tiny-world's shape over 10 chunks with scripted keys

It needs torch and numpy and nothing else, and runs on the processor in float32.
"""
import json, math, struct, sys
import numpy as np, torch, torch.nn.functional as F

torch.set_grad_enabled(False)


# ---- safetensors ----------------------------------------------------------------------------------------------------

def load(path):
    raw = open(path, 'rb').read()
    n = struct.unpack('<Q', raw[:8])[0]
    out = {}
    for name, entry in json.loads(raw[8:8 + n]).items():
        if name == '__metadata__':
            continue
        a, b = entry['data_offsets']
        kind = {'BF16': torch.bfloat16, 'F32': torch.float32}[entry['dtype']]
        out[name] = torch.frombuffer(bytearray(raw[8 + n + a:8 + n + b]), dtype=kind).reshape(entry['shape']).float()
    return out


def save(path, tensors):
    header, data = {}, b''
    for name, t in tensors.items():
        t = t.contiguous()
        b = (t.view(torch.int16).numpy() if t.dtype == torch.bfloat16 else t.numpy()).tobytes()
        header[name] = {'dtype': {torch.float32: 'F32', torch.bfloat16: 'BF16'}[t.dtype], 'shape': list(t.shape), 'data_offsets': [len(data), len(data) + len(b)]}
        data += b
    h = json.dumps(header).encode()
    h += b' ' * (-len(h) % 8)
    open(path, 'wb').write(struct.pack('<Q', len(h)) + h + data)


# ---- noise and weights by a seed: kernels.Noise and weights.Random -----------------------------------------------------

def philox(counter, stream, seed):
    c = [counter & 0xffffffff, counter >> 32, np.full_like(counter, stream & 0xffffffff), np.full_like(counter, stream >> 32)]
    k0, k1 = seed & 0xffffffff, seed >> 32
    m = np.uint64(0xffffffff)
    for _ in range(10):
        p, q = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(q >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), q & m, (p >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p & m]
        k0, k1 = (k0 + 0x9E3779B9) & 0xffffffff, (k1 + 0xBB67AE85) & 0xffffffff
    return c


def normals(seed, stream, first, n):
    """n numbers from element first on, which is a multiple of four"""
    w = philox(np.arange(first // 4, (first + n + 3) // 4, dtype=np.uint64), stream, seed)
    out = []
    for j in range(2):
        r = np.sqrt(-2 * np.log(((w[2 * j] >> np.uint64(8)) + np.uint64(1)) / 2.0 ** 24))
        a = (w[2 * j + 1] >> np.uint64(5)) / 2.0 ** 27 * 2 * np.pi      # 27 bits: octant and 24 bits in it
        out += [r * np.cos(a), r * np.sin(a)]
    return torch.from_numpy(np.stack(out, 1).reshape(-1)[:n].astype(np.float32))


def fnv(name):
    h = 0xcbf29ce484222325
    for b in name.encode():
        h = (h ^ b) * 0x100000001b3 & 0xffffffffffffffff
    return h


def draw(seed, name, shape, centre, sigma):
    v = normals(seed, fnv(name), 0, math.prod(shape)) * np.float32(sigma)
    return (v + np.float32(centre)).bfloat16().float().reshape(shape)


class Seeded:
    """weights.Random: made when they are asked for, by name and shape"""

    def __init__(self, seed):
        self.seed, self.made = seed, {}

    def get(self, name, *shape):
        if name not in self.made:
            self.made[name] = self.make(name, shape)
        return self.made[name]

    def make(self, name, shape):
        if name in ('mean', 'std'):
            return draw(self.seed, name, shape, float(name == 'std'), 0.05 if name == 'std' else 0.02)
        if name.endswith('.gamma') or 'norm' in name and name.endswith('.weight'):
            return draw(self.seed, name, shape, 1, 0.05)
        if name.endswith('.bias'):
            return draw(self.seed, name, shape, 0, 0.02)
        if name.endswith('modulation'):
            return draw(self.seed, name, shape, 0, shape[-1] ** -.5)
        if name == 'prompts':
            return draw(self.seed, name, shape, 0, 1)
        return draw(self.seed, name, shape, 0, math.prod(shape[1:]) ** -.5)


class Stored:
    def __init__(self, path):
        self.tensors = load(path)

    def get(self, name, *shape):
        assert list(self.tensors[name].shape) == list(shape), (name, shape)
        return self.tensors[name]


# ---- VAE: activations [T, C, H, W], whole clips ------------------------------------------------------------------------

class VAE:
    def __init__(self, weights, base, mult, z=16, blocks=2, halved=(False, True, True)):
        self.w, self.base, self.mult, self.z, self.blocks, self.halved = weights, base, mult, z, blocks, halved

    def conv(self, name, x, out, kernel, **kw):
        w, b = self.w.get(name + '.weight', out, x.shape[1], *kernel), self.w.get(name + '.bias', out)
        if len(kernel) == 2:
            return F.conv2d(x, w, b, **kw)
        x = F.pad(x.transpose(0, 1)[None], (0, 0, 0, 0, kernel[0] - 1, 0))
        return F.conv3d(x, w, b, padding=(0, kernel[1] // 2, kernel[2] // 2))[0].transpose(0, 1)

    def norm(self, name, x, rank):
        g = self.w.get(name + '.gamma', x.shape[1], *[1] * rank).reshape(-1, 1, 1)
        return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-8) * g

    def block(self, name, x, out):
        h = self.conv(name + '.residual.2', F.silu(self.norm(name + '.residual.0', x, 3)), out, (3, 3, 3))
        h = self.conv(name + '.residual.6', F.silu(self.norm(name + '.residual.3', h, 3)), out, (3, 3, 3))
        return h + (x if x.shape[1] == out else self.conv(name + '.shortcut', x, out, (1, 1, 1)))

    def attention(self, name, x):
        t, c, h, w = x.shape
        y = self.conv(name + '.to_qkv', self.norm(name + '.norm', x, 2), 3 * c, (1, 1)).reshape(t, 3, c, h * w).transpose(2, 3)
        y = torch.softmax(y[:, 0] @ y[:, 1].transpose(1, 2) / math.sqrt(c), -1) @ y[:, 2]
        return x + self.conv(name + '.proj', y.transpose(1, 2).reshape(t, c, h, w), c, (1, 1))

    def middle(self, name, x):
        c = x.shape[1]
        return self.block(name + '.middle.2', self.attention(name + '.middle.1', self.block(name + '.middle.0', x, c)), c)

    def head(self, name, x, out):
        return self.conv(name + '.2', F.silu(self.norm(name + '.0', x, 3)), out, (3, 3, 3))

    def up(self, name, x, time):
        t, c, h, w = x.shape
        if time and t > 1:
            y = self.conv(name + '.time_conv', x[1:], 2 * c, (3, 1, 1))
            x = torch.cat([x[:1], y.reshape(t - 1, 2, c, h, w).reshape(2 * t - 2, c, h, w)])
        return self.conv(name + '.resample.1', F.interpolate(x, scale_factor=2, mode='nearest'), c // 2, (3, 3), padding=1)

    def down(self, name, x, time):
        x = self.conv(name + '.resample.1', F.pad(x, (0, 1, 0, 1)), x.shape[1], (3, 3), stride=2)
        if time and len(x) > 1:
            c = x.shape[1]
            w, b = self.w.get(name + '.time_conv.weight', c, c, 3, 1, 1), self.w.get(name + '.time_conv.bias', c)
            y = F.conv3d(x.transpose(0, 1)[None], w, b, stride=(2, 1, 1))[0].transpose(0, 1)
            x = torch.cat([x[:1], y])
        return x

    def normal(self):
        return self.w.get('mean', self.z).view(-1, 1, 1), self.w.get('std', self.z).view(-1, 1, 1)

    def encode(self, x):
        """[T, 3, H, W] in -1..1 to normalised latents [t, z, H/8, W/8]"""
        x, at = self.conv('encoder.conv1', x, self.base, (3, 3, 3)), 0
        for i, m in enumerate(self.mult):
            for _ in range(self.blocks):
                x, at = self.block(f'encoder.downsamples.{at}', x, self.base * m), at + 1
            if i < len(self.mult) - 1:
                x, at = self.down(f'encoder.downsamples.{at}', x, self.halved[i]), at + 1
        x = self.conv('conv1', self.head('encoder.head', self.middle('encoder', x), 2 * self.z), 2 * self.z, (1, 1, 1))
        mean, std = self.normal()
        return (x[:, :self.z] - mean) / std

    def decode(self, x):
        """normalised latents to [T, 3, H, W]"""
        mean, std = self.normal()
        x = self.conv('conv2', x * std + mean, self.z, (1, 1, 1))
        x = self.middle('decoder', self.conv('decoder.conv1', x, self.base * self.mult[-1], (3, 3, 3)))
        at = 0
        for i in reversed(range(len(self.mult))):
            for _ in range(self.blocks + 1):
                x, at = self.block(f'decoder.upsamples.{at}', x, self.base * self.mult[i]), at + 1
            if i > 0:
                x, at = self.up(f'decoder.upsamples.{at}', x, self.halved[i - 1]), at + 1
        return self.head('decoder.head', x, 3)


# ---- transformer: tokens [L, dim] of one chunk -------------------------------------------------------------------------

class DiT:
    def __init__(self, weights, dim, ffn, layers, heads, text_dim, text_len, prompts, freq=256, z=16, sink=4, local=16):
        self.w, self.dim, self.ffn, self.layers, self.heads, self.freq, self.z = weights, dim, ffn, layers, heads, freq, z
        self.text_dim, self.text_len, self.prompts, self.sink, self.local = text_dim, text_len, prompts, sink, local

    def linear(self, name, x, out):
        return F.linear(x, self.w.get(name + '.weight', out, x.shape[-1]), self.w.get(name + '.bias', out))

    def rms(self, name, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.w.get(name + '.weight', self.dim)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(0, 1)

    def attend(self, q, k, v):
        y = torch.softmax(self.split(q) @ self.split(k).transpose(1, 2) / math.sqrt(self.dim // self.heads), -1) @ self.split(v)
        return y.transpose(0, 1).flatten(1)

    def turn(self, x, frames, h, w):
        d = self.dim // self.heads
        side = d // 3 // 2 * 2
        pairs = [(d - 2 * side) // 2, side // 2, side // 2]
        grid = torch.stack(torch.meshgrid(frames, torch.arange(h), torch.arange(w), indexing='ij'), -1).reshape(-1, 3).double()
        angle = torch.cat([grid[:, i:i + 1] * 10000.0 ** (-torch.arange(n).double() / n) for i, n in enumerate(pairs)], 1)[:, None]
        a, b = x.unflatten(-1, (self.heads, d // 2, 2)).unbind(-1)
        cos, sin = angle.cos().float(), angle.sin().float()
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(1)

    def step(self, z, given, sigma, rays, frames, text, cache):
        """z [T, z, H, W], given [T, 4 + z, H, W] or None, rays [L, 1536] or None, cache [(k, v)] by layer of earlier chunks; answers the
        flow and this chunk's keys and values"""
        t, _, H, W = z.shape
        h, w, d = H // 2, W // 2, self.dim
        norm = lambda x: F.layer_norm(x, (d,), None, None, 1e-6)
        x = z if given is None else torch.cat([z, given], 1)
        x = F.conv2d(x, self.w.get('patch_embedding.weight', d, x.shape[1], 1, 2, 2)[:, :, 0],
                     self.w.get('patch_embedding.bias', d), stride=2).flatten(2).transpose(1, 2).reshape(-1, d)
        half = self.freq // 2
        a = 1000 * sigma * torch.exp(-math.log(10000) * torch.arange(half).double() / half)
        e = torch.cat([a.cos(), a.sin()]).float()
        e = self.linear('time_embedding.2', F.silu(self.linear('time_embedding.0', e, d)), d)
        times = self.linear('time_projection.1', F.silu(e), 6 * d).view(6, d)
        if rays is not None:
            camera = self.linear('patch_embedding_wancamctrl', rays, d)
            camera = camera + self.linear('c2ws_hidden_states_layer2', F.silu(self.linear('c2ws_hidden_states_layer1', camera, d)), d)
        ctx = self.w.get('prompts', self.prompts, self.text_len, self.text_dim)[text]
        ctx = self.linear('text_embedding.2', F.gelu(self.linear('text_embedding.0', ctx, d), approximate='tanh'), d)
        made = []
        for i in range(self.layers):
            n = f'blocks.{i}'
            m = self.w.get(n + '.modulation', 1, 6, d)[0] + times
            y = norm(x) * (1 + m[1]) + m[0]
            q = self.turn(self.rms(n + '.self_attn.norm_q', self.linear(n + '.self_attn.q', y, d)), frames, h, w)
            k = self.turn(self.rms(n + '.self_attn.norm_k', self.linear(n + '.self_attn.k', y, d)), frames, h, w)
            v = self.linear(n + '.self_attn.v', y, d)
            made.append((k, v))
            K, V = torch.cat([c[i][0] for c in cache] + [k]), torch.cat([c[i][1] for c in cache] + [v])
            x = x + m[2] * self.linear(n + '.self_attn.o', self.attend(q, K, V), d)
            if rays is not None:
                c = self.linear(n + '.cam_injector_layer2', F.silu(self.linear(n + '.cam_injector_layer1', camera, d)), d) + camera
                x = (1 + self.linear(n + '.cam_scale_layer', c, d)) * x + self.linear(n + '.cam_shift_layer', c, d)
            y = norm(x) * self.w.get(n + '.norm3.weight', d) + self.w.get(n + '.norm3.bias', d)
            y = self.attend(self.rms(n + '.cross_attn.norm_q', self.linear(n + '.cross_attn.q', y, d)),
                            self.rms(n + '.cross_attn.norm_k', self.linear(n + '.cross_attn.k', ctx, d)), self.linear(n + '.cross_attn.v', ctx, d))
            x = x + self.linear(n + '.cross_attn.o', y, d)
            y = self.linear(n + '.ffn.0', norm(x) * (1 + m[4]) + m[3], self.ffn)
            x = x + m[5] * self.linear(n + '.ffn.2', F.gelu(y, approximate='tanh'), d)
        m = self.w.get('head.modulation', 1, 2, d)[0] + e
        y = self.linear('head.head', norm(x) * (1 + m[1]) + m[0], 4 * self.z)
        return y.view(t, h, w, 2, 2, self.z).permute(0, 5, 1, 3, 2, 4).reshape(t, self.z, H, W), made


# ---- camera --------------------------------------------------------------------------------------------------------------

KEYS = dict(w=(1, 0, 0, 0), s=(-1, 0, 0, 0), a=(0, -1, 0, 0), d=(0, 1, 0, 0), j=(0, 0, -1, 0), l=(0, 0, 1, 0), i=(0, 0, 0, 1), k=(0, 0, 0, -1))
SCRIPT = ['w', 'wl', 'wl', 'd', 'i', 'j', 'wj', 's', 'k', 'al']      # by chunk
MOVE, YAW, PITCH, TILT, LIMITS = 0.10, math.radians(1), math.radians(0.5), -0.12, (math.radians(-31), math.radians(17))


def rotation(yaw, pitch):
    cy, sy, cp, sp = math.cos(yaw), math.sin(yaw), math.cos(pitch), math.sin(pitch)
    return np.array([[cy, sy * sp, sy * cp], [0, cp, -sp], [-sy, cy * sp, cy * cp]])


def fly(chunks):
    """poses (x, z, yaw, pitch) of the latent frames of chunks of four"""
    x = z = yaw = 0.0
    pitch, out = TILT, []
    for c in range(chunks):
        f, r, y, p = (sum(KEYS[k][i] for k in SCRIPT[c % len(SCRIPT)]) for i in range(4))
        for n in range(4):
            for _ in range(4 if c + n else 0):
                yaw += y * YAW
                if LIMITS[0] <= pitch + p * PITCH <= LIMITS[1]:
                    pitch += p * PITCH
                x += MOVE * (f * math.sin(yaw) + r * math.cos(yaw))
                z += MOVE * (f * math.cos(yaw) - r * math.sin(yaw))
            out.append((x, z, yaw, pitch))
    return out


def rays(poses, before, W, H):
    moves = []
    for p in poses:
        a, b = rotation(*before[2:]), rotation(*p[2:])
        moves.append((a.T @ b, a.T @ np.array([p[0] - before[0], 0, p[1] - before[1]])))
        before = p
    longest = max(np.linalg.norm(t) for _, t in moves)
    j, i = np.meshgrid(np.arange(H) + .5, np.arange(W) + .5, indexing='ij')
    d = np.stack([(i - W / 2) / W, (j - H / 2) / W, np.ones_like(i)], -1)
    d /= np.linalg.norm(d, axis=-1, keepdims=True)
    out = []
    for r, t in moves:
        t = t / longest if longest > 1e-6 else 0 * t
        x = np.concatenate([np.broadcast_to(t, d.shape), d @ r.T], -1)
        out.append(x.reshape(H // 16, 2, 8, W // 16, 2, 8, 6).transpose(0, 3, 6, 2, 5, 1, 4).reshape(-1, 1536))
    return torch.from_numpy(np.concatenate(out).astype(np.float32))


# ---- a video -----------------------------------------------------------------------------------------------------------

def seeded(seed, chunk, step, t, z, H, W):
    """wan.SeededNoise: drawn for tokens (row, column of the patch, channel)"""
    n = t * z * H * W
    v = normals(seed ^ (0x51A7E5EED if step else 0), step, chunk * n, n)
    return v.view(t, H // 2, W // 2, 2, 2, z).permute(0, 5, 1, 3, 2, 4).reshape(t, z, H, W)


def roll(vae, dit, picture, text, chunks, seed, shift=5):
    """picture [3, H, W]; answers latents [4 * chunks, z, H/8, W/8] and the condition's latents"""
    H, W = picture.shape[1:]
    clip = torch.zeros(29, 3, H, W)
    clip[0] = picture
    given = vae.encode(clip)
    sigmas = [shift * u / (1 + (shift - 1) * u) for u in (1, .75, .5, .25)]
    poses, cache, out = fly(chunks), [], []
    for j in range(chunks):
        c = given[4 * j:4 * j + 4] if j < 2 else given[7:].expand(4, -1, -1, -1)
        mask = torch.zeros(4, 4, *c.shape[2:])
        mask[0] = float(j == 0)
        c = torch.cat([mask, c], 1)
        r = rays(poses[4 * j:4 * j + 4], poses[max(4 * j - 1, 0)], W, H)
        seen = [cache[i] for i in sorted({0, max(j - 2, 0), j - 1})] if j else []
        frames = torch.arange(4 * j, 4 * j + 4)
        x = seeded(seed, j, 0, 4, *given.shape[1:])
        for i, s in enumerate(sigmas):
            x0 = x - s * dit.step(x, c, s, r, frames, text, seen)[0]
            if i + 1 < len(sigmas):
                x = (1 - sigmas[i + 1]) * x0 + sigmas[i + 1] * seeded(seed, j, i + 1, 4, *given.shape[1:])
        cache.append(dit.step(x0, c, 0.0, r, frames, text, seen)[1])
        out.append(x0)
        print('chunk', j, 'std %.4f' % x0.std().item(), flush=True)
    return torch.cat(out), given


def unipc(flow, x, sigmas):
    """second order, bh2, on clean latents, whole-numbered times; flow(x, sigma)"""
    lam = lambda s: math.log(1 - s) - math.log(s) if s > 0 else math.inf
    clean, order, before = [], 0, None
    for i in range(len(sigmas) - 1):
        s = sigmas[i]
        m = x - s * flow(x, math.trunc(1000 * s) / 1000)
        if i > 0:      # correct the step that led here
            p = sigmas[i - 1]
            h = lam(s) - lam(p)
            phi = math.expm1(-h)
            x = s / p * before - (1 - s) * phi * clean[-1]
            if order == 1:
                x = x - (1 - s) * phi * 0.5 * (m - clean[-1])
            else:
                r = (lam(sigmas[i - 2]) - lam(p)) / h
                k = phi / -h - 1
                b = np.array([k / phi, (k / -h - 0.5) * 2 / phi])
                c = np.linalg.solve(np.array([[1, 1], [r, 1]]), b)
                x = x - (1 - s) * phi * (c[0] * (clean[-2] - clean[-1]) / r + c[1] * (m - clean[-1]))
        clean.append(m)
        order = min(2, i + 1, len(sigmas) - 1 - i)
        before, n = x, sigmas[i + 1]
        h = lam(n) - lam(s)
        phi = math.expm1(-h)
        x = n / s * x - (1 - n) * phi * m
        if order == 2:
            x = x - (1 - n) * phi * 0.5 * (clean[-2] - m) / ((lam(sigmas[i - 1]) - lam(s)) / h)
    return x


def stripes(W, H):
    """a first picture that every language can draw: -1..1 in steps of 1/64"""
    y, x = np.meshgrid(np.arange(H), np.arange(W), indexing='ij')
    p = np.stack([(x * 3 + y) % 97 / 48 - 1, (x + y * 5) % 89 / 44 - 1, (x * y) % 83 / 41 - 1])
    return torch.from_numpy(np.round(p * 64).astype(np.float32) / 64)


def last(x):
    """channels last, as Go has them"""
    return x.permute(0, 2, 3, 1).contiguous()


def golden(folder):
    W, H = 64, 32
    vae = VAE(Seeded(11), 8, [1, 2, 2, 2])
    dit = DiT(Seeded(12), 128, 64, 2, 1, 16, 4, 3, freq=32)
    latents, given = roll(vae, dit, stripes(W, H), 1, 6, 7)
    frames = vae.decode(latents)
    save(f'{folder}/golden_world.safetensors', {
        'condition': last(given), 'latents': last(latents), 'frames': last(frames[[0, 1, 2, 3, 4, 12, 13, 28, 29, 60, 92]]).bfloat16()})


def film(folder):
    """a whole video at once, without camera and picture, led by one text and away from another"""
    dit = DiT(Seeded(13), 128, 64, 2, 1, 16, 4, 3, freq=32)
    x = seeded(9, 0, 0, 3, 16, 4, 8)
    frames = torch.arange(3)

    def flow(x, sigma):
        a, b = (dit.step(x, None, sigma, None, frames, text, [])[0] for text in (1, 0))
        return b + 5 * (a - b)
    sigmas = [5 * s / (1 + 4 * s) for s in (0.999 * (1 - i / 6) for i in range(6))] + [0]
    euler = x
    for a, b in zip(sigmas, sigmas[1:]):
        euler = euler + (b - a) * flow(euler, a)
    save(f'{folder}/golden_film.safetensors', {'unipc': last(unipc(flow, x, sigmas)), 'euler': last(euler)})


def shared(vae, dit, out):
    """tiny-world: the first latents exactly, the frames as bytes in a raw file"""
    latents, given = roll(VAE(Stored(vae), 16, [1, 2, 4, 4]), DiT(Stored(dit), 256, 768, 6, 2, 64, 8, 9), stripes(160, 96), 0, 10, 7)
    frames = VAE(Stored(vae), 16, [1, 2, 4, 4]).decode(latents)
    save(out, {'condition': last(given), 'latents': last(latents), 'frames': last(frames)})


if __name__ == '__main__':
    if sys.argv[1] == 'golden':
        golden(sys.argv[2])
        film(sys.argv[2])
    else:
        shared(*sys.argv[2:5])
