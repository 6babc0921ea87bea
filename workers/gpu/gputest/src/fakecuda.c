// A CUDA driver without a GPU, for tests. Device memory is the host's, everything queued is done at once, kernels are known by name: the
// health probe, a counter and the sums of workers/kernels are computed, those that fail do so as asked, all others do nothing.
//
// The machine is described by files beside this library. "machine" holds the number of GPUs and the bytes of each. "fault-N" makes GPU N
// fail once: its first word says where (retain, alloc, launch, hang), the number behind it is the driver's code; a code that is sticky
// stays with the context.
#include <pthread.h>
#include <time.h>

enum { GPUS = 8, OUT_OF_MEMORY = 2, INVALID = 1, NO_DEVICE = 100, BAD_DEVICE = 101, NOT_FOUND = 500, NOT_READY = 600, PEER_ENABLED = 704, UNCAPTURED = 905 };

typedef struct { int ordinal, lost, hung, retained; u64 held; int peers; } Ctx;
typedef struct { char name[64]; } Fn;
typedef struct Alloc { struct Alloc *next; Ctx *owner; u64 bytes; } Alloc;
typedef struct { u64 srcX, srcY; u32 srcType, p0; u64 srcHost, srcDevice, srcArray, srcPitch, dstX, dstY; u32 dstType, p1; u64 dstHost, dstDevice, dstArray, dstPitch, width, height; } Rows;
typedef struct { int kind; Ctx *ctx; u64 dst, src, n; u32 value; Rows rows; Fn fn; u64 args[8]; } Node;
typedef struct { Node *nodes; size_t count, room; } Graph;
// A stream, or an event, belongs to the capture of that number; streams join one by waiting for an event of it.
typedef struct { u64 capture; } Stream;
typedef struct { u64 time, capture; } Event;
enum { COPY = 1, SET8, SET32, ROWS, LAUNCH };

static Ctx contexts[GPUS];
static int gpus = -1;
static u64 capacity;
static Alloc *allocations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread Ctx *current;
static Graph *capturing;
static u64 capture, captures; // the one under way, or 0; all so far

static int sticky(int code) { return code == 46 || code == 214 || code == 220 || code == 702 || code == 999 || (code >= 700 && code < 720 && code != PEER_ENABLED); }

// strike is the code of a fault that waits at a place, or 0; it strikes once.
static int strike(int ordinal, const char *where) {
  char name[32], place[16];
  int code = 0;
  snprintf(name, sizeof name, "fault-%d", ordinal);
  FILE *f = fopen(beside(name), "r");
  if (!f) return 0;
  int n = fscanf(f, "%15s %d", place, &code);
  fclose(f);
  if (n != 2 || strcmp(place, where)) return 0;
  unlink(beside(name));
  return code;
}

static int fail(Ctx *c, int code) {
  if (c && sticky(code)) c->lost = code;
  return code;
}
static int usable(void) { return !current ? 201 : current->lost; }
#define USE() do { int lost_ = usable(); if (lost_) return lost_; } while (0)

int cuInit(u32 flags) {
  FILE *f = fopen(beside("machine"), "r");
  if (!f) return NO_DEVICE;
  int n = fscanf(f, "%d %lu", &gpus, &capacity);
  fclose(f);
  if (n != 2 || gpus < 1 || gpus > GPUS || flags) return NO_DEVICE;
  for (int i = 0; i < GPUS; i++) contexts[i].ordinal = i;
  return 0;
}
int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuGetErrorString(int code, const char **s) { (void)code; *s = "made up"; return 0; }
int cuDeviceGetCount(int *n) { *n = gpus; return 0; }
int cuDeviceGet(int *d, int ordinal) { *d = ordinal; return ordinal >= 0 && ordinal < gpus ? 0 : BAD_DEVICE; }
int cuDeviceGetName(char *s, int n, int d) { (void)d; snprintf(s, n, "Made-up GPU"); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { (void)d; *v = a == 75 ? 8 : a == 76 ? 0 : 16; return 0; }
int cuDeviceTotalMem_v2(u64 *n, int d) { (void)d; *n = capacity; return 0; }
// cuDeviceGetUuid_v2 names a GPU after the library's place, so that the machines of two tests are two.
int cuDeviceGetUuid_v2(unsigned char *id, int d) {
  u64 h = 1469598103934665603ull;
  for (const char *p = beside(""); *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211ull;
  memset(id, 0, 16);
  memcpy(id, &h, 8);
  id[15] = (unsigned char)d;
  return 0;
}
int cuDeviceGetPCIBusId(char *s, int n, int d) { snprintf(s, n, "0000:%02x:00.0", d); return 0; }
int cuDeviceCanAccessPeer(int *can, int a, int b) { *can = a != b; return 0; }

int cuDevicePrimaryCtxRetain(Ctx **c, int d) {
  int code = strike(d, "retain");
  if (code) return code;
  *c = &contexts[d];
  contexts[d].retained++;
  return contexts[d].lost;
}
int cuDevicePrimaryCtxRelease_v2(int d) { contexts[d].retained--; return 0; }
int cuCtxSetCurrent(Ctx *c) { current = c; return c ? c->lost : 0; }
int cuCtxEnablePeerAccess(Ctx *peer, u32 flags) {
  (void)flags;
  if (current->peers >> peer->ordinal & 1) return PEER_ENABLED;
  current->peers |= 1 << peer->ordinal;
  return 0;
}

static void hang(Ctx *c) { while (c->hung) pause(); }
int cuCtxSynchronize(void) { USE(); hang(current); return 0; }

int cuMemAlloc_v2(u64 *p, u64 n) {
  USE();
  int code = strike(current->ordinal, "alloc");
  if (code) return fail(current, code);
  pthread_mutex_lock(&lock);
  Alloc *a = current->held + n > capacity ? NULL : malloc(sizeof *a + 256 + n);
  if (a) {
    *a = (Alloc){allocations, current, n};
    allocations = a;
    current->held += n;
  }
  pthread_mutex_unlock(&lock);
  if (!a) return OUT_OF_MEMORY;
  *p = ((u64)(a + 1) + 255) / 256 * 256;
  memset((void *)*p, 0xcd, n); // contents are undefined
  return 0;
}
int cuMemFree_v2(u64 p) {
  USE();
  int code = INVALID;
  pthread_mutex_lock(&lock);
  for (Alloc **at = &allocations; *at; at = &(*at)->next) {
    if (((u64)(*at + 1) + 255) / 256 * 256 != p) continue;
    Alloc *a = *at;
    *at = a->next;
    a->owner->held -= a->bytes;
    free(a);
    code = 0;
    break;
  }
  pthread_mutex_unlock(&lock);
  return code;
}
int cuMemGetInfo_v2(u64 *left, u64 *total) { USE(); *left = capacity - current->held; *total = capacity; return 0; }
int cuMemHostAlloc(void **p, u64 n, u32 flags) { (void)flags; USE(); *p = malloc(n); return *p ? 0 : OUT_OF_MEMORY; }
int cuMemFreeHost(void *p) { free(p); return 0; }

static void sum(const Node *n) { // x += y, rows of d floats or bf16 with their strides
  const u64 *a = n->args;
  int d = (int)a[5];
  for (u64 t = 0; t < n->n; t++)
    for (int i = 0; i < d; i++) {
      const unsigned short *y = (const unsigned short *)a[2] + t * a[3] + i;
      union { u32 u; float f; } v = {(u32)*y << 16}, x;
      if (strstr(n->fn.name, "f32")) {
        ((float *)a[0])[t * a[1] + i] += v.f;
        continue;
      }
      unsigned short *at = (unsigned short *)a[0] + t * a[1] + i;
      x.u = (u32)*at << 16;
      x.f += v.f;
      *at = (unsigned short)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);
    }
}

static int launch(const Node *n) {
  int code = strike(n->ctx->ordinal, "launch");
  if (code) return fail(n->ctx, code);
  if (strike(n->ctx->ordinal, "hang")) n->ctx->hung = 1;
  if (!strcmp(n->fn.name, "probe"))
    for (u32 i = 0; i < (u32)n->args[2]; i++) ((u32 *)n->args[1])[i] = ((u32 *)n->args[0])[i] * 3 + i;
  if (!strncmp(n->fn.name, "gate_residual", 13)) sum(n);
  if (!strcmp(n->fn.name, "add")) ++*(u32 *)n->args[0];
  int asked = !strcmp(n->fn.name, "terrain_fault") ? (int)n->args[1] : 0;
  if (asked == 1 || !strcmp(n->fn.name, "trap")) n->ctx->lost = 710;
  if (asked == 2 || !strcmp(n->fn.name, "outside")) n->ctx->lost = 700;
  if (asked == 3 || !strcmp(n->fn.name, "endless")) n->ctx->hung = 1;
  return 0;
}

static int execute(const Node *n) {
  if (n->ctx->lost) return n->ctx->lost;
  switch (n->kind) {
    case COPY: memmove((void *)n->dst, (void *)n->src, n->n); return 0;
    case SET8: memset((void *)n->dst, (int)n->value, n->n); return 0;
    case SET32: for (u64 i = 0; i < n->n; i++) ((u32 *)n->dst)[i] = n->value; return 0;
    case ROWS:
      for (u64 i = 0; i < n->rows.height; i++) memmove((void *)(n->rows.dstDevice + i * n->rows.dstPitch), (void *)(n->rows.srcDevice + i * n->rows.srcPitch), n->rows.width);
      return 0;
    case LAUNCH: return launch(n);
  }
  return 0;
}
static int queue(Stream *s, Node n) {
  USE();
  n.ctx = current;
  if (!capture || s->capture != capture) return execute(&n);
  if (capturing->count == capturing->room) capturing->nodes = realloc(capturing->nodes, (capturing->room = 2 * capturing->room + 64) * sizeof n);
  capturing->nodes[capturing->count++] = n;
  return 0;
}
int cuMemcpyHtoDAsync_v2(u64 d, void *s, u64 n, Stream *st) { return queue(st, (Node){.kind = COPY, .dst = d, .src = (u64)s, .n = n}); }
int cuMemcpyDtoHAsync_v2(void *d, u64 s, u64 n, Stream *st) { return queue(st, (Node){.kind = COPY, .dst = (u64)d, .src = s, .n = n}); }
int cuMemcpyDtoDAsync_v2(u64 d, u64 s, u64 n, Stream *st) { return queue(st, (Node){.kind = COPY, .dst = d, .src = s, .n = n}); }
int cuMemcpyPeerAsync(u64 d, void *dc, u64 s, void *sc, u64 n, Stream *st) { (void)dc; (void)sc; return queue(st, (Node){.kind = COPY, .dst = d, .src = s, .n = n}); }
int cuMemcpy2DAsync_v2(const Rows *r, Stream *st) { return queue(st, (Node){.kind = ROWS, .rows = *r}); }
int cuMemsetD8Async(u64 d, unsigned char v, u64 n, Stream *st) { return queue(st, (Node){.kind = SET8, .dst = d, .value = v, .n = n}); }
int cuMemsetD32Async(u64 d, u32 v, u64 n, Stream *st) { return queue(st, (Node){.kind = SET32, .dst = d, .value = v, .n = n}); }

int cuStreamCreate(Stream **s, u32 flags) { (void)flags; USE(); *s = calloc(1, sizeof **s); return 0; }
int cuStreamDestroy_v2(Stream *s) { free(s); return usable(); }
int cuStreamSynchronize(void *s) { (void)s; USE(); hang(current); return 0; }
int cuStreamQuery(void *s) { (void)s; USE(); return current->hung ? NOT_READY : 0; }
int cuStreamWaitEvent(Stream *s, Event *e, u32 f) {
  (void)f;
  USE();
  if (!capture) return 0;
  if (s->capture == capture && e->capture != capture) return UNCAPTURED;
  if (e->capture == capture) s->capture = capture;
  return 0;
}
int cuEventCreate(Event **e, u32 f) { (void)f; USE(); *e = calloc(1, sizeof **e); return 0; }
int cuEventDestroy_v2(Event *e) { free(e); return usable(); }
int cuEventRecord(Event *e, Stream *s) {
  USE();
  e->capture = s->capture;
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  e->time = (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
  return 0;
}
int cuEventSynchronize(Event *e) { (void)e; USE(); hang(current); return 0; }
int cuEventElapsedTime(float *ms, Event *a, Event *b) { USE(); *ms = (float)((double)(b->time - a->time) / 1e6); return 0; }

int cuStreamBeginCapture_v2(Stream *s, int mode) {
  (void)mode;
  USE();
  capturing = calloc(1, sizeof *capturing);
  s->capture = capture = ++captures;
  return 0;
}
int cuStreamEndCapture(Stream *s, Graph **g) {
  (void)s;
  *g = capturing;
  capturing = NULL;
  capture = 0;
  return usable();
}
int cuGraphGetNodes(Graph *g, void *nodes, u64 *n) { (void)nodes; *n = g->count; return 0; }
int cuGraphInstantiateWithFlags(Graph **exec, Graph *g, u64 f) {
  (void)f;
  *exec = malloc(sizeof **exec);
  **exec = (Graph){malloc((g->count + 1) * sizeof(Node)), g->count, g->count};
  memcpy((*exec)->nodes, g->nodes, g->count * sizeof(Node));
  return 0;
}
int cuGraphUpload(Graph *g, void *s) { (void)g; (void)s; return usable(); }
int cuGraphLaunch(Graph *g, void *s) {
  (void)s;
  USE();
  for (size_t i = 0; i < g->count; i++) {
    int code = execute(&g->nodes[i]);
    if (code) return code;
  }
  return 0;
}
int cuGraphDestroy(Graph *g) { free(g->nodes); free(g); return 0; }
int cuGraphExecDestroy(Graph *g) { return cuGraphDestroy(g); }

int cuModuleLoadDataEx(void **m, const void *image, u32 n, void *o, void *v) { (void)image; (void)n; (void)o; (void)v; USE(); *m = malloc(1); return 0; }
int cuModuleUnload(void *m) { free(m); return usable(); }
int cuModuleGetFunction(Fn **f, void *m, const char *name) {
  (void)m;
  USE();
  if (!strncmp(name, "missing", 7)) return NOT_FOUND;
  *f = calloc(1, sizeof **f);
  snprintf((*f)->name, sizeof (*f)->name, "%s", name);
  return 0;
}
int cuFuncGetAttribute(int *v, int a, Fn *f) { (void)a; (void)f; *v = 0; return 0; }
int cuFuncSetAttribute(Fn *f, int a, int v) { (void)f; (void)a; (void)v; return 0; }
int cuLaunchKernel(Fn *f, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared, Stream *s, void **args, void **extra) {
  (void)gy; (void)gz; (void)bx; (void)by; (void)bz; (void)shared; (void)extra;
  Node n = {.kind = LAUNCH, .n = gx, .fn = *f};
  int count = !strcmp(f->name, "probe") ? 3 : !strcmp(f->name, "terrain_fault") ? 2 : !strncmp(f->name, "gate_residual", 13) ? 6 : !strcmp(f->name, "add") ? 1 : 0;
  for (int i = 0; i < count; i++) n.args[i] = *(u64 *)args[i];
  return queue(s, n);
}
typedef struct { u32 grid[3], block[3], shared; Stream *stream; struct { u32 id, pad, value[16]; } *attributes; u32 count; } LaunchConfig;
int cuLaunchKernelEx(const LaunchConfig *c, Fn *f, void **args, void **extra) {
  for (u32 i = 0; i < c->count; i++)
    if (c->attributes[i].id != 6 || c->attributes[i].value[0] != 1) return INVALID;
  return cuLaunchKernel(f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, c->stream, args, extra);
}
int cuTensorMapEncodeTiled(void *m) { memset(m, 0, 128); return 0; }
