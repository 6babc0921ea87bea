"""Holds our networks to public implementations of the same ones, which are installed or lie beside; none is part of this repository.

    python public.py plan SIZE DIR [PART ...]
                                             asks for a check, or for parts of one: SIZE is small, with weights in files; or true, with weights from a
                                             seed; or whole, which is a video of the true size beside a transformer that begins with a picture; or golden or
                                             golden-sight, of which golden files are made
    TELEFUSER_PUBLIC=DIR go test ./workers/models/wan -run TestPublic
    python public.py check DIR [PART ...]    makes the same with the public implementations in float32, prints a table, and ends with 1
                                             where a figure misses what is asked for
    python public.py golden DIR OUT          writes what the public implementations make of the plan "golden" to OUT/golden_ti2v.safetensors, after
                                             TestPublic has said what the names are here; TestTI2VAgreesWithPublicNetworks reads it. Of "golden-sight",
                                             OUT/golden.safetensors, which TestSightAgreesWithPublic reads beside the plan and its parts' json files

It needs torch, numpy, einops, scipy, `diffusers` (WanTransformer3DModel, AutoencoderKLWan), `transformers` (UMT5EncoderModel, CLIPVisionModel), and the sources of
the causal, camera-controlled transformer and of its schedule: PUBLIC_LINGBOT names a checkout of github.com/Tele-AI/TeleFuser, PUBLIC_WAN one of
github.com/Wan-Video/Wan2.2. Of both, single files are read.
"""
import ast, importlib.util, json, math, os, sys, time, traceback, types
import numpy as np, torch, torch.nn.functional as F

torch.set_grad_enabled(False)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
DEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'


# ---- what the seed gives: kernels.Noise and weights.Random ---------------------------------------------------------------

def normals(seed, stream, first, n):
    """n numbers from element first on, which is a multiple of four"""
    low = 0xffffffff
    c = torch.arange(first // 4, (first + n + 3) // 4, device=DEVICE)
    c = [c & low, c >> 32, torch.full_like(c, stream & low), torch.full_like(c, stream >> 32)]
    k0, k1 = seed & low, seed >> 32
    for _ in range(10):
        p, q = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57      # 64 bits that wrap have the bits of what is unsigned
        c = [(q >> 32 & low) ^ c[1] ^ k0, q & low, (p >> 32 & low) ^ c[3] ^ k1, p & low]
        k0, k1 = (k0 + 0x9E3779B9) & low, (k1 + 0xBB67AE85) & low
    out = []
    for j in range(2):
        r = torch.sqrt(-2 * torch.log(((c[2 * j] >> 8) + 1).double() / 2.0 ** 24))
        a = (c[2 * j + 1] >> 5).double() / 2.0 ** 27 * (2 * math.pi)      # 27 bits: octant and 24 bits in it
        out += [(r * a.cos()).float(), (r * a.sin()).float()]
    return torch.stack(out, 1).reshape(-1)[:n]


def fnv(name):
    h = 0xcbf29ce484222325
    for b in name.encode():
        h = (h ^ b) * 0x100000001b3 & 0xffffffffffffffff
    return h


def draw(out, seed, q):
    """fills a tensor with the values of a parameter, rounded to bf16"""
    flat, step = out.view(-1), 1 << 26
    for at in range(0, flat.numel(), step):
        v = normals(seed, fnv(q['Name']), at, min(step, flat.numel() - at)) * q['Sigma']
        flat[at:at + step] = (v + q['Centre']).bfloat16() if q['Centre'] else v.bfloat16()


class Check:
    def __init__(self, folder, parts):
        self.dir, self.parts = folder, parts
        self.plan = json.load(open(f'{folder}/plan.json'))
        self.rows, self.kind = [], 'bf16' if self.plan['bf16'] else 'f32'

    def input(self, name, sigma, *shape):
        return (normals(self.plan['seed'], fnv('input.' + name), 0, math.prod(shape)) * sigma).view(shape)

    def out(self, name, *shape):
        return torch.from_numpy(np.fromfile(f'{self.dir}/out/{name}.f32', np.float32)).to(DEVICE).view(shape)

    def config(self, part):
        return json.load(open(f'{self.dir}/{part}/config.json'))

    def fill(self, part, model):
        """gives a model the weights of the part's file, or of the seed"""
        files = [f for f in os.listdir(f'{self.dir}/{part}') if f.endswith('.safetensors')]
        if files:
            from safetensors.torch import load_file
            state = load_file(f'{self.dir}/{part}/{files[0]}')
            assert set(state) == set(names(model)), part
            model.load_state_dict(state, strict=False)      # two names of one tensor
        else:
            q = json.load(open(f'{self.dir}/{part}/parameters.json'))
            state = model.state_dict()
            for name in names(model):
                assert list(state[name].shape) == q[name]['Shape'], name
                draw(state[name], self.plan['seed'], q[name])
        return model.eval()

    def row(self, what, figure, value, least=None, most=None):
        good = math.isfinite(value) and (least is None or value >= least) and (most is None or value <= most)
        wanted = f'>= {least:g}' if least is not None else f'<= {most:g}' if most is not None else ''
        self.rows.append((what, figure, value, wanted, good))
        print(f'{"BAD " if not good else "ok  " if wanted else "    "} {what}: {figure} {value:.6g} {wanted}', flush=True)


def relative(got, want):
    return ((got.double() - want.double()).norm() / want.double().norm()).item()


def cosine(got, want):
    a, b = got.double().flatten(), want.double().flatten()
    return (a @ b / a.norm() / b.norm()).item()


def psnr(got, want, peak):
    return 20 * math.log10(peak) - 10 * math.log10((got.double() - want.double()).pow(2).mean().item() + 1e-300)


def span(x):
    return (x.max() - x.min()).item()


def empty(make, real):
    """a model in float32 whose values are not drawn yet; one that is not real has names and shapes alone"""
    with torch.device('meta'):
        model = make()
    return model.to_empty(device=DEVICE) if real else model


def names(model):
    """of parameters; two names of one tensor are one"""
    return [n for n, _ in model.named_parameters()]


# ---- the public implementations --------------------------------------------------------------------------------------------

def pieces(path, *wanted):
    """functions and methods of a source file, without what it imports"""
    scope = dict(torch=torch, np=np, math=math, F=F, LingBotWorldFastSessionConfig=object)
    for node in ast.walk(ast.parse(open(path).read())):
        if isinstance(node, ast.FunctionDef) and node.name in wanted:
            if node.name != '_apply_rotary_emb_native':
                node.decorator_list = []
            node.returns = None
            for a in node.args.args:
                a.annotation = None
            exec(compile(ast.Module([node], []), path, 'exec'), scope)
    return types.SimpleNamespace(**{w: scope[w] for w in wanted})


def source(path, name, package=''):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    module.__package__ = package
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def stub(name, **what):
    m = sys.modules.setdefault(name, types.ModuleType(name))
    m.__path__ = []
    for k, v in what.items():
        setattr(m, k, v)


class RMSNorm(torch.nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight, self.eps = torch.nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def lingbot(c, real=True):
    """the causal transformer of a TeleFuser checkout, with attention, norms and helpers for several GPUs replaced by plain ones"""
    root = os.environ['PUBLIC_LINGBOT'] + '/telefuser'
    rotary = pieces(root + '/ops/rotary.py', '_apply_rotary_emb_native')
    wan = pieces(root + '/models/wan_video_dit.py', 'sinusoidal_embedding_1d', 'precompute_freqs_cis_3d', 'precompute_freqs_cis')
    wan.precompute_freqs_cis_3d.__globals__['precompute_freqs_cis'] = wan.precompute_freqs_cis
    none = lambda *a, **k: None
    attend = lambda q, k, v, **kw: F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v))).transpose(1, 2)
    for n in ('telefuser', 'telefuser.core', 'telefuser.distributed', 'telefuser.ops', 'telefuser.utils', 'telefuser.models'):
        stub(n)
    stub('telefuser.core.base_model', BaseModel=torch.nn.Module)
    stub('telefuser.core.config', AttentionConfig=object)
    stub('telefuser.distributed.device_mesh', get_ulysses_group=none, get_ulysses_world_size=lambda *a: 1)
    stub('telefuser.distributed.parallel_shard', sequence_parallel_shard=none, sequence_parallel_unshard=none)
    stub('telefuser.distributed.ulysses_comm', ulysses_gather_heads=none, ulysses_scatter_heads=none)
    stub('telefuser.ops.attention', attention=attend)
    stub('telefuser.ops.normalization', LayerNorm=torch.nn.LayerNorm, RMSNorm=RMSNorm)
    stub('telefuser.utils.logging', logger=None)
    stub('telefuser.utils.model_weight', init_weights_on_device=none, load_state_dict=none)
    stub('telefuser.models.wan_video_dit', apply_rotary_emb=lambda x, f: rotary._apply_rotary_emb_native(x, *f), precompute_freqs_cis_3d=wan.precompute_freqs_cis_3d,
         sinusoidal_embedding_1d=wan.sinusoidal_embedding_1d)
    module = source(root + '/models/lingbot_world_fast_dit.py', 'telefuser.models.lingbot_world_fast_dit', 'telefuser.models')
    module.LingBotWorldFastDiT.init_weights = none
    model = empty(lambda: module.LingBotWorldFastDiT(in_dim=c['in_dim'], dim=c['dim'], ffn_dim=c['ffn_dim'], freq_dim=c['freq_dim'], text_dim=c['text_dim'],
                                                      text_len=c['text_len'], num_heads=c['num_heads'], num_layers=c['num_layers']), real)
    freqs = wan.precompute_freqs_cis_3d(c['dim'] // c['num_heads'])      # no buffers: made on the device that is none
    model.freqs_cos, model.freqs_sin = (torch.cat([getattr(f, part) for f in freqs], -1).to(DEVICE) for part in ('real', 'imag'))
    return model


def schedule():
    return source(os.environ['PUBLIC_WAN'] + '/wan/utils/fm_solvers_unipc.py', 'public_unipc').FlowUniPCMultistepScheduler


def film(c, real=True):
    from diffusers import WanTransformer3DModel
    model = empty(lambda: WanTransformer3DModel.from_config(c), real)
    model.rope = type(model.rope)(c['attention_head_dim'], tuple(c['patch_size']), c['rope_max_seq_len']).to(DEVICE)
    return model


def vae(c, real=True):
    from diffusers import AutoencoderKLWan
    return empty(lambda: AutoencoderKLWan.from_config(c), real)


def clip(c, real=True):
    from transformers import CLIPVisionConfig, CLIPVisionModel
    model = empty(lambda: CLIPVisionModel(CLIPVisionConfig(**{k: v for k, v in c.items() if k != 'architectures'})), real)
    model.embeddings.position_ids = torch.arange(model.embeddings.num_positions, device=DEVICE)[None]
    return model


def text(c, real=True):
    from transformers import UMT5Config, UMT5EncoderModel
    model = empty(lambda: UMT5EncoderModel(UMT5Config(**c)), real)
    model.encoder.embed_tokens = model.shared      # once more, now that memory is there
    return model


# ---- plans ------------------------------------------------------------------------------------------------------------------

SPREAD = dict(latents_mean=[0.3 * math.sin(i) for i in range(48)], latents_std=[0.7 + 0.4 * math.cos(5 * i) for i in range(48)])
RESIDUAL = dict(z_dim=48, is_residual=True, patch_size=2, in_channels=12, out_channels=12, scale_factor_spatial=16, **SPREAD)

SIZES = {
    'small': dict(
        lingbot=dict(in_dim=36, dim=256, ffn_dim=512, freq_dim=64, text_dim=64, text_len=16, num_heads=2, num_layers=3, out_dim=16),
        film=dict(in_channels=36, out_channels=16, num_attention_heads=2, attention_head_dim=128, ffn_dim=512, freq_dim=64, text_dim=64, num_layers=3),
        ti2v=dict(in_channels=48, out_channels=48, num_attention_heads=2, attention_head_dim=128, ffn_dim=512, freq_dim=64, text_dim=64, num_layers=3),
        sight=dict(in_channels=36, out_channels=16, num_attention_heads=2, attention_head_dim=128, ffn_dim=512, freq_dim=64, text_dim=64, num_layers=3,
                   image_dim=160, added_kv_proj_dim=256),
        clip=dict(hidden_size=160, intermediate_size=192, num_hidden_layers=4, num_attention_heads=2, image_size=56, patch_size=14),
        vae=dict(base_dim=16, z_dim=16), vae22=dict(base_dim=16, decoder_base_dim=24, **RESIDUAL), text=dict(vocab_size=300, d_model=64, d_kv=32, d_ff=96, num_layers=3, num_heads=2),
        plan=dict(sight=dict(frames=3, height=8, width=16, given=10, tokens=17), clip=dict(pictures=[[70, 40], [30, 99]]),
                  lingbot=dict(width=128, height=64, chunk=4, chunks=4, local=10, sink=2, given=10, blocks=True),
                  film=dict(frames=3, height=8, width=16, given=10), vae=dict(width=64, height=64, chunk=3, chunks=3),
                  ti2v=dict(frames=3, height=6, width=4, given=10, known=1), vae22=dict(width=96, height=64, chunk=2, chunks=3), lengths=[40, 1, 17])),
}
SIZES['true'] = dict(
    lingbot=dict(SIZES['small']['lingbot'], dim=5120, ffn_dim=13824, freq_dim=256, text_dim=4096, text_len=512, num_heads=40, num_layers=40),
    film=dict(SIZES['small']['film'], in_channels=16, num_attention_heads=40, ffn_dim=13824, freq_dim=256, text_dim=4096, num_layers=40),
    ti2v=dict(SIZES['small']['ti2v'], num_attention_heads=24, ffn_dim=14336, freq_dim=256, text_dim=4096, num_layers=30),
    sight=dict(SIZES['small']['sight'], num_attention_heads=40, ffn_dim=13824, freq_dim=256, text_dim=4096, num_layers=40, image_dim=1280, added_kv_proj_dim=5120),
    clip=dict(hidden_size=1280, intermediate_size=5120, num_hidden_layers=32, num_attention_heads=16, image_size=224, patch_size=14),
    vae=dict(base_dim=96, z_dim=16), vae22=dict(base_dim=160, decoder_base_dim=256, **RESIDUAL), text=dict(vocab_size=256384, d_model=4096, d_kv=64, d_ff=10240, num_layers=24, num_heads=64),
    plan=dict(sight=dict(frames=4, height=32, width=48, given=77, tokens=257), clip=dict(pictures=[[832, 480], [300, 500]]),
              lingbot=dict(width=384, height=256, chunk=4, chunks=3, local=10, sink=2, given=77, blocks=True),
              film=dict(frames=4, height=32, width=48, given=77), vae=dict(width=832, height=480, chunk=2, chunks=2),
              ti2v=dict(frames=4, height=44, width=80, given=77, known=1), vae22=dict(width=1280, height=704, chunk=2, chunks=2), lengths=[512, 77]))
SIZES['whole'] = dict(
    SIZES['true'], film=dict(SIZES['true']['film'], in_channels=36),
    plan=dict(SIZES['true']['plan'], lingbot=dict(width=832, height=480, chunk=4, chunks=3, local=18, sink=6, given=77)))
for part in ('sight', 'clip'):
    del SIZES['whole'][part], SIZES['whole']['plan'][part]
SIZES['golden-sight'] = dict(
    sight=dict(SIZES['small']['sight'], ffn_dim=64, freq_dim=32, text_dim=16, num_layers=2), clip=dict(SIZES['small']['clip'], num_hidden_layers=3),
    plan=dict(sight=dict(frames=2, height=4, width=8, given=5, tokens=17), clip=dict(pictures=[[70, 40], [30, 99]])))
SIZES['golden'] = dict(
    ti2v=dict(SIZES['small']['ti2v'], num_layers=2), vae22=dict(SIZES['small']['vae22'], base_dim=8, decoder_base_dim=16),
    plan=dict(ti2v=dict(frames=3, height=4, width=6, given=5, known=1), vae22=dict(width=96, height=64, chunk=2, chunks=2)))


def ti2v(c, real=True):
    return film(c, real)


def sight(c, real=True):
    return film(c, real)


def vae22(c, real=True):
    return vae(c, real)


def plan(size, folder, parts):
    s = SIZES[size]
    if parts:
        s = {part: s[part] for part in parts + ['vae'] * ('lingbot' in parts)}
        s['plan'] = {part: v for part, v in SIZES[size]['plan'].items() if part in parts or part == 'lengths'}
    small = size in ('small', 'golden', 'golden-sight')
    p = dict(seed=21, bf16=not small, gpu=not small, **{k: dict(v) for k, v in s['plan'].items() if k != 'lengths'})
    for part, more in dict(lingbot=dict(shift=10, steps=[0, 250, 500, 750], time=873, scale=3, quiet=0.1, keys=['w', 'wl', 'dj', 'ia']),
                           **{part: dict(time=612) for part in ('film', 'ti2v', 'sight')}).items():
        if part in p:
            p[part].update(more)
    if 'text' in s and not parts:
        p['solver'] = dict(shift=5, steps=20, n=64)
    if 'text' in s:
        p['text'] = dict(ids=[[(i * i * 7919 + 13 * n) % s['text']['vocab_size'] for i in range(n)] for n in s['plan']['lengths']])
    from diffusers import AutoencoderKLWan, WanTransformer3DModel
    transformer = lambda c: meta_config(WanTransformer3DModel, dict(c, cross_attn_norm=True, qk_norm='rms_norm_across_heads'))
    made = dict(
        lingbot=lambda c: dict(c, _class_name='WanModelFast', model_type='i2v', eps=1e-6), film=transformer, ti2v=transformer, sight=transformer,
        clip=lambda c: dict(c, architectures=['CLIPVisionModel'], hidden_act='gelu', layer_norm_eps=1e-5, num_channels=3),
        vae=lambda c: meta_config(AutoencoderKLWan, c), vae22=lambda c: meta_config(AutoencoderKLWan, c),
        text=lambda c: dict(c, feed_forward_proj='gated-gelu', relative_attention_num_buckets=32, relative_attention_max_distance=128, layer_norm_epsilon=1e-6))
    for part in made:
        if part not in s or part == 'lingbot' and 'PUBLIC_LINGBOT' not in os.environ:
            p.pop(part, None)
            continue
        c = made[part](s[part])
        os.makedirs(f'{folder}/{part}', exist_ok=True)
        json.dump(c, open(f'{folder}/{part}/config.json', 'w'), indent=1, default=list)
        model = globals()[part](c, False)
        json.dump(names(model), open(f'{folder}/{part}/names.json', 'w'))
        if size == 'small':
            write(f'{folder}/{part}', model)
    json.dump(p, open(f'{folder}/plan.json', 'w'), indent=1)


def meta_config(cls, given):
    """all that the public class says in its configuration"""
    with torch.device('meta'):
        return dict({k: v for k, v in cls(**given).config.items() if not k.startswith('_')}, _class_name=cls.__name__)


def write(folder, model):
    """weights of torch's own generator, under the public names"""
    from safetensors.torch import save_file
    g = torch.Generator().manual_seed(5)
    state = {}
    for name, x in model.named_parameters():
        v = torch.randn(x.shape, generator=g)
        one = x.dim() == 1 or name.endswith('.gamma')
        if one and ('norm' in name or name.endswith('.gamma')) and not name.endswith('bias'):
            v = 1 + 0.1 * v
        elif name.endswith('bias'):
            v = 0.05 * v
        elif 'relative' not in name and 'shared' not in name:
            v = v / math.sqrt(max(math.prod(x.shape[1:]), 1)) / (4 if name.endswith('SelfAttention.q.weight') else 1)
        if 'cam_scale_layer' in name or 'cam_shift_layer' in name:
            v = 0.1 * v
        state[name] = v
    save_file(state, f'{folder}/model.safetensors')


# ---- checks -----------------------------------------------------------------------------------------------------------------

def blocks(k, part, model, run):
    """each block with what our own one got, and the whole pass"""
    seen = []
    hooks = [b.register_forward_pre_hook(lambda m, a, kw: seen.append((a, kw)), with_kwargs=True) for b in model.blocks]
    flow = run()
    for h in hooks:
        h.remove()
    dim = model.dim if part == 'lingbot' else model.blocks[0].ffn.net[2].out_features
    worst, sums = 0, 0
    first = relative(k.out(f'{part}/x.0', -1, dim), seen[0][0][0][0])
    for i, b in enumerate(model.blocks):
        x, y = k.out(f'{part}/x.{i}', -1, dim), k.out(f'{part}/x.{i + 1}', -1, dim)
        a, kw = seen[i]
        want = b(x[None], *a[1:], **kw)[0]
        e, grown = relative(y, want), relative(y - x, want - x)
        worst, sums = max(worst, e), sums + e / len(model.blocks)
        print(f'     {part} block {i}: {e:.3e}, of what it adds {grown:.3e}, size {want.pow(2).mean().sqrt().item():.4g}')
    exact = 1e-4 if k.kind == 'f32' else 5e-3
    k.row(f'{part} embedding', 'relative error', first, most=exact)
    k.row(f'{part} blocks, worst of {len(model.blocks)}', 'relative error', worst, most=exact)
    k.row(f'{part} blocks, mean', 'relative error', sums, most=exact)
    got = k.out(f'{part}/flow', *flow.shape)
    k.row(f'{part} forward, {len(model.blocks)} layers', 'cosine', cosine(got, flow), least=0.999)
    k.row(f'{part} forward, {len(model.blocks)} layers', 'relative error', relative(got, flow))


def grid(tokens, t, h, w, c):
    """latents [c, t, h, w] of tokens (row, column of the patch, channel)"""
    return tokens.view(t, h // 2, w // 2, 2, 2, c).permute(5, 0, 1, 3, 2, 4).reshape(c, t, h, w)


def tokens(x):
    c, t, h, w = x.shape
    return x.reshape(c, t, h // 2, 2, w // 2, 2).permute(1, 2, 4, 3, 5, 0).reshape(-1, 4 * c)


def features(k, c, given):
    x = torch.zeros(1, c.get('text_len', 16 if c['text_dim'] < 100 else 512), c['text_dim'], device=DEVICE)
    x[0, :given] = k.input('text', 1, given, c['text_dim'])
    return x


def film_run(k, part):
    """the transformer of a whole video of latents, and its pass, whose first latent frames may stand at time 0"""
    c, p = k.config(part), k.plan[part]
    model, z = k.fill(part, film(c)), c['out_channels']
    size, each = (p['frames'], p['height'], p['width']), p['height'] * p['width'] // 4
    x = grid(k.input('latents', 1, p['frames'] * each, 4 * z), *size, z)[None]
    if c['in_channels'] > z:
        x = torch.cat([x, grid(k.input('given', 1, p['frames'] * each, 80), *size, 20)[None]], 1)
    ctx = torch.zeros(1, 512, c['text_dim'], device=DEVICE)
    ctx[0, :p['given']] = k.input('text', 1, p['given'], c['text_dim'])
    seen = k.input('picture', 1, 1, p['tokens'], c['image_dim']) if p.get('tokens') else None
    return model, lambda: tokens(model(x, times(p, p['time'], each), ctx, encoder_hidden_states_image=seen).sample[0])


def times(p, time, each):
    """one time, or one for each token: what is known stands at 0"""
    if not p.get('known'):
        return torch.tensor([time], device=DEVICE)
    t = torch.full((1, p['frames'] * each), float(time), device=DEVICE)
    t[:, :p['known'] * each] = 0
    return t


def check_film(k, part='film'):
    blocks(k, part, *film_run(k, part))


def check_ti2v(k):
    check_film(k, 'ti2v')


def check_sight(k):
    check_film(k, 'sight')


def picture(k, width, height):
    """a picture of bytes in a formula, as Wan 2.1 shows it to CLIP: [1, 3, side, side]"""
    y, x, c = torch.meshgrid(torch.arange(height), torch.arange(width), torch.arange(3), indexing='ij')
    rgb = ((7 * x + 13 * y + 31 * c + x * y // 9) % 256).permute(2, 0, 1).float().to(DEVICE) / 255
    side = k.config('clip')['image_size']
    small = F.interpolate(rgb[None] * 2 - 1, size=(side, side), mode='bicubic', align_corners=False) * 0.5 + 0.5
    mean, std = (torch.tensor(v, device=DEVICE).view(1, 3, 1, 1) for v in ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)))
    return (small - mean) / std


def see(k):
    """the features of all pictures: what comes out of the last layer but one"""
    model = k.fill('clip', clip(k.config('clip')))
    return [model(picture(k, *size), output_hidden_states=True).hidden_states[-2][0] for size in k.plan['clip']['pictures']]


def check_clip(k):
    for i, want in enumerate(see(k)):
        width, height = k.plan['clip']['pictures'][i]
        got = k.out(f'clip/{i}', *want.shape)
        k.row(f'CLIP, a picture of {width}x{height}', 'cosine', cosine(got, want), least=0.999)
        k.row(f'CLIP, a picture of {width}x{height}', 'relative error', relative(got, want), most=1e-4 if k.kind == 'f32' else None)


def check_lingbot(k):
    c, p = k.config('lingbot'), k.plan['lingbot']
    root = os.environ['PUBLIC_LINGBOT'] + '/telefuser/pipelines/lingbot_world_fast'
    control = source(root + '/control.py', 'public_control')
    session = pieces(root + '/service.py', '_integrate_camera_step', '_rotation_matrix')
    H, W, n = p['height'], p['width'], p['chunk']
    h, w = H // 8, W // 8
    size = n * h * w * 16
    model = k.fill('lingbot', lingbot(c))
    model.set_causal_attention_window(p['local'], p['sink'])
    codec = k.fill('vae', vae(k.config('vae')))
    mean, std = (torch.tensor(k.config('vae')['latents_' + s], device=DEVICE).view(1, -1, 1, 1, 1) for s in ('mean', 'std'))
    ctx = features(k, c, p['given'])
    clip = torch.zeros(1, 3, 4 * n * p['chunks'] - 3, H, W, device=DEVICE)
    clip[0, :, 0] = k.input('picture', 0.5, H, W, 3).permute(2, 0, 1)
    given = (codec.encode(clip).latent_dist.mean - mean) / std
    mask = torch.zeros(1, 4, *given.shape[2:], device=DEVICE)
    mask[:, :, 0] = 1
    given = torch.cat([mask, given], 1)

    builder = control.LingBotWorldFastControlBuilder(control.LingBotWorldFastControlContext(
        control_type='cam', device=DEVICE, control_dtype=torch.float32, orig_height=H, orig_width=W, height=H, width=W, latent_h=h, latent_w=w, latent_frames=n * p['chunks'],
        chunk_size=n, intrinsics=torch.tensor([W, W, W / 2, H / 2])))
    steps = types.SimpleNamespace(control_pitch_step_degrees=0.5, control_yaw_step_degrees=0.5, control_pitch_limit_degrees=85, control_move_step=0.1, control_lateral_step=0.1)
    cls = types.SimpleNamespace(_rotation_matrix=session._rotation_matrix)
    pose, pitch, rays = np.eye(4), 0.0, []
    for i in range(p['chunks']):
        before, poses = (pose, []) if i else (None, [pose])
        while len(poses) < n:
            for _ in range(4):
                pose, pitch = session._integrate_camera_step(cls, pose, pitch, set(p['keys'][i % len(p['keys'])]), steps)
            poses.append(pose)
        rays.append(builder.build(dict(poses=np.stack(poses), previous_pose=before, translation_scale=p['scale'])))

    table = schedule()(num_train_timesteps=1000, shift=1, use_dynamic_shifting=False)
    table.set_timesteps(1000, shift=p['shift'])
    levels = [(table.sigmas[i].item(), table.timesteps[i].item()) for i in p['steps']]
    room = min(p['local'], n * p['chunks']) * h * w // 4      # what the video fills
    cache = lambda: [dict({part: torch.zeros(1, room, c['num_heads'], 128, device=DEVICE) for part in 'kv'}, global_end_index=0, local_end_index=0) for _ in model.blocks]
    text = [dict(is_init=False) for _ in model.blocks]

    def step(x, i, t, kv):
        return model(x, torch.tensor([float(t)], device=DEVICE), ctx, y=given[:, :, n * i:n * i + n], control_tensor=rays[i], kv_cache=kv, crossattn_cache=text,
                     current_start=i * n * h * w // 4)
    noise = lambda i, s: grid(normals(k.plan['seed'] ^ (0x51A7E5EED if s else 0), s, i * size, size), n, h, w, 16)[None]
    kv, made = cache(), []
    if p.get('blocks'):
        x = grid(k.input('latents', 1, size), n, h, w, 16)[None]
        blocks(k, 'lingbot', model, lambda: tokens(step(x, 0, p['time'], kv)[0]))
        kv = None
        kv = cache()
    for i in range(p['chunks']):
        x = noise(i, 0)
        for at, (s, t) in enumerate(levels):
            x0 = (x.double() - s * step(x, i, t, kv).double()).float()
            if at + 1 < len(levels):
                x = (1 - levels[at + 1][0]) * x0 + levels[at + 1][0] * noise(i, at + 1)
        step(x0, i, 0, kv)
        made.append(x0)
        fold = rays[i][0].view(384, n, h // 2, 2, w // 2, 2).permute(1, 2, 4, 0, 3, 5).reshape(-1, 1536)
        k.row(f'chunk {i} camera rays', 'largest difference', (k.out(f'lingbot/rays.{i}', -1, 1536) - fold).abs().max().item(), most=2e-5)
        want = tokens(given[0, :, n * i:n * i + n])
        got = k.out(f'lingbot/condition.{i}', *want.shape)
        k.row(f'chunk {i} condition', 'PSNR', psnr(got, want, span(want)), least=45)
        got = k.out(f'lingbot/latents.{i}', n, h, w, 16).permute(3, 0, 1, 2)[None]
        k.row(f'chunk {i} latents', 'relative error', relative(got, x0))
    frames = codec.decode(torch.cat(made, 2) * std + mean).sample[0]
    got = torch.cat([k.out(f'lingbot/frames.{i}', -1, H, W, 3) for i in range(p['chunks'])]).permute(3, 0, 1, 2).clamp(-1, 1)
    k.row(f'{p["chunks"]} chunks, {frames.shape[1]} frames', 'deviation of the frames', frames.std().item())
    for i in range(p['chunks']):
        part = slice(max(4 * n * i - 3, 0), 4 * n * (i + 1) - 3)
        k.row(f'chunk {i} frames', 'PSNR', psnr(got[:, part], frames[:, part], 2), least=35)


def vae_run(k, part):
    """latents of a clip, and frames of latents"""
    p, c = k.plan[part], k.config(part)
    model = k.fill(part, vae(c))
    mean, std = (torch.tensor(c['latents_' + s], device=DEVICE).view(1, -1, 1, 1, 1) for s in ('mean', 'std'))
    H, W, n, side = p['height'], p['width'], p['chunk'], c['scale_factor_spatial']
    join = lambda name, sigma, count, *shape: torch.cat([k.input(f'{name}.{i}', sigma, count(i), *shape) for i in range(p['chunks'])]).permute(3, 0, 1, 2)[None]
    clip = join('frames', 0.5, lambda i: 4 * n - (0 if i else 3), H, W, 3)
    codes = join('codes', 1, lambda i: n, H // side, W // side, c['z_dim'])
    return model, ((model.encode(clip).latent_dist.mean - mean) / std)[0], model.decode(codes * std + mean).sample[0]


def check_vae(k, part='vae'):
    p = k.plan[part]
    _, latents, frames = vae_run(k, part)
    join = lambda name: torch.cat([k.out(f'{part}/{name}.{i}', -1, *f.shape[2:], f.shape[0]) for f in [latents if name == 'latents' else frames] for i in range(p['chunks'])])
    got = join('latents').permute(3, 0, 1, 2)
    size = f'{frames.shape[1]} frames of {p["width"]}x{p["height"]}'
    k.row(f'{part} encode, {size}', 'PSNR', psnr(got, latents, span(latents)), least=45)
    k.row(f'{part} encode', 'relative error', relative(got, latents))
    got = join('frames').permute(3, 0, 1, 2).clamp(-1, 1)      # as theirs are
    k.row(f'{part} decode', 'deviation of the frames', frames.std().item())
    k.row(f'{part} decode, {size}', 'PSNR', psnr(got, frames, 2), least=45)
    k.row(f'{part} decode', 'relative error', relative(got, frames))


def check_vae22(k):
    check_vae(k, 'vae22')


def check_text(k):
    model = k.fill('text', text(k.config('text')))
    for i, ids in enumerate(k.plan['text']['ids']):
        want = model(torch.tensor([ids], device=DEVICE)).last_hidden_state[0]
        got = k.out(f'text/{i}', *want.shape)
        k.row(f'UMT5, {len(ids)} tokens', 'cosine', cosine(got, want), least=0.999)
        k.row(f'UMT5, {len(ids)} tokens', 'relative error', relative(got, want))


def check_solver(k):
    p = k.plan['solver']
    table = schedule()(num_train_timesteps=1000, shift=1, use_dynamic_shifting=False)
    table.set_timesteps(p['steps'], shift=p['shift'])
    x, all = k.input('solver', 1, 1, p['n']).cpu(), []
    for t in table.timesteps:
        flow = (0.9 * x.double() + 0.3 * torch.cos(3 * x.double() + t.item() / 300)).float()
        x = table.step(flow, t, x, return_dict=False)[0]
        all.append(x)
    k.row('UniPC, times', 'largest difference', (k.out('solver/times', -1).cpu() - table.timesteps).abs().max().item(), most=0)
    k.row(f'UniPC, {p["steps"]} steps', 'relative error', relative(k.out('solver/latents', -1, p['n']).cpu(), torch.cat(all)), most=1e-5)


def check(folder, parts):
    k = Check(folder, parts)
    for part in parts or [x for x in ('solver', 'text', 'clip', 'vae', 'vae22', 'film', 'ti2v', 'sight', 'lingbot') if x in k.plan]:
        began = time.time()
        while not os.path.exists(f'{folder}/out/{part}/done') and time.time() < began + 60:      # what makes it may still be at it
            time.sleep(0.1)
        ready = time.time()
        try:
            globals()['check_' + part](k)
        except Exception:      # the other parts may be right
            traceback.print_exc()
            k.row(part, 'was checked', 0, least=1)
        if DEVICE == 'cuda':
            torch.cuda.empty_cache()
        print(f'     {part}: {time.time() - ready:.1f} s, after {ready - began:.1f} s of waiting', flush=True)
    bad = [r for r in k.rows if not r[-1]]
    print('\n| what | figure | value | asked for |\n|---|---|---|---|')
    for what, figure, value, wanted, good in k.rows:
        print(f'| {what} | {figure} | {value:.6g} | {wanted}{"" if good else " MISSED"} |')
    print(f'\n{k.kind} against float32: {len(k.rows) - len(bad)} passed, {len(bad)} failed')
    return bool(bad)


# ---- golden files -----------------------------------------------------------------------------------------------------------

def golden(folder, out):
    """what the plan "golden" gives: the VAE there and back, the tokens before and behind each block of the transformer and its flow, and a video from a
    picture, in four steps, led by one text and away from another"""
    from safetensors.torch import save_file
    k = Check(folder, [])
    if 'sight' in k.plan:
        return golden_sight(k, out)
    codec, latents, frames = vae_run(k, 'vae22')
    model, run = film_run(k, 'ti2v')
    seen, flow = passed(model, run)
    last = lambda x: x.permute(1, 2, 3, 0).contiguous()
    save_file({
        'vae.latents': last(latents), 'vae.frames': last(frames)[[0, 1, 4, 12]].bfloat16(), 'flow': flow.contiguous(),
        **{f'x.{i}': x[0].contiguous() for i, x in enumerate(seen)}, 'video': last(video(k, codec, model)),
    }, f'{out}/golden_ti2v.safetensors')


def passed(model, run):
    """the tokens before and behind each block, and what comes out"""
    seen = []
    hooks = [b.register_forward_pre_hook(lambda m, a: seen.append(a[0])) for b in model.blocks] + [model.blocks[-1].register_forward_hook(lambda m, a, y: seen.append(y))]
    flow = run()
    for h in hooks:
        h.remove()
    return seen, flow


def golden_sight(k, out):
    """what the plan "golden-sight" gives: tokens and flow of a transformer that reads a picture's features, and an image encoder's features"""
    from safetensors.torch import save_file
    seen, flow = passed(*film_run(k, 'sight'))
    made = {'sight/flow': flow, **{f'sight/x.{i}': x[0] for i, x in enumerate(seen)}, **{f'clip/{i}': x for i, x in enumerate(see(k))}}
    save_file({name: x.contiguous() for name, x in made.items()}, f'{out}/golden.safetensors')


def video(k, codec, model):
    """latents of a video whose first frame is given"""
    p, c, v = k.plan['ti2v'], k.config('ti2v'), k.config('vae22')
    z, size, each = c['out_channels'], (p['frames'], p['height'], p['width']), p['height'] * p['width'] // 4
    mean, std = (torch.tensor(v['latents_' + s], device=DEVICE).view(1, -1, 1, 1, 1) for s in ('mean', 'std'))
    first = (codec.encode(k.input('picture', 0.5, 16 * size[1], 16 * size[2], 3).permute(2, 0, 1)[None, :, None]).latent_dist.mean - mean) / std
    texts = []
    for name in ('text', 'against'):
        texts.append(torch.zeros(1, 512, c['text_dim'], device=DEVICE))
        texts[-1][0, :p['given']] = k.input(name, 1, p['given'], c['text_dim'])
    x = grid(normals(k.plan['seed'], 0, 0, p['frames'] * each * 4 * z), *size, z)[None]
    table = schedule()(num_train_timesteps=1000, shift=1, use_dynamic_shifting=False)
    table.set_timesteps(4, shift=5)
    for t in table.timesteps:
        x[:, :, :1] = first
        towards, away = (model(x, times(p, t.item(), each), ctx).sample for ctx in texts)
        x = table.step(away + 5 * (towards - away), t, x, return_dict=False)[0]
    x[:, :, :1] = first
    return x[0]


if __name__ == '__main__':
    if sys.argv[1] == 'plan':
        plan(sys.argv[2], sys.argv[3], sys.argv[4:])
    elif sys.argv[1] == 'golden':
        golden(sys.argv[2], sys.argv[3])
    else:
        sys.exit(check(sys.argv[2], sys.argv[3:]))
