// An NVML without a GPU, for tests. What it says of GPU N stands in the file "nvml-N" beside this library, a name and a number a line; what
// does not stand there is unknown. "xid-N" holds the number of the next critical error of GPU N and is removed when that is told.

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6, TIMEOUT = 10, UNKNOWN = 999 };
typedef struct { int ordinal; } Device;
typedef struct { void *device; u64 kind, data; u32 gi, ci; } Event;
static Device devices[8];

// fact is what stands in the file of a GPU under a name.
static int fact(Device *d, const char *name, u64 *v) {
  char file[32], key[32];
  snprintf(file, sizeof file, "nvml-%d", d->ordinal);
  FILE *f = fopen(beside(file), "r");
  if (!f) return UNKNOWN;
  int code = UNKNOWN;
  u64 value;
  while (code && fscanf(f, "%31s %lu", key, &value) == 2)
    if (!strcmp(key, name)) { *v = value; code = 0; }
  fclose(f);
  return code;
}
static int fact32(Device *d, const char *name, u32 *v) {
  u64 wide = 0;
  int code = fact(d, name, &wide);
  if (!code) *v = (u32)wide;
  return code;
}

int nvmlInit_v2(void) { for (int i = 0; i < 8; i++) devices[i].ordinal = i; return 0; }
int nvmlInit(void) { return nvmlInit_v2(); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { (void)code; return "made up"; }
// The last two digits of a UUID are the number, as in fakecuda.c.
int nvmlDeviceGetHandleByUUID(const char *uuid, Device **d) {
  size_t n = strlen(uuid);
  long i = n > 2 ? strtol(uuid + n - 2, NULL, 16) : -1;
  if (i < 0 || i >= 8) return NOT_FOUND;
  *d = &devices[i];
  return 0;
}
int nvmlSystemGetDriverVersion(char *s, u32 n) { snprintf(s, n, "999.1"); return 0; }
int nvmlDeviceGetMemoryInfo(Device *d, u64 *m) {
  u64 used;
  int code = fact(d, "used", &used);
  if (!code) code = fact(d, "total", &m[0]);
  if (!code) { m[1] = m[0] - used; m[2] = used; }
  return code;
}
int nvmlDeviceGetClockInfo(Device *d, int kind, u32 *v) { return fact32(d, kind == 1 ? "sm_clock" : "mem_clock", v); }
int nvmlDeviceGetPowerUsage(Device *d, u32 *v) { return fact32(d, "power_mw", v); }
int nvmlDeviceGetEnforcedPowerLimit(Device *d, u32 *v) { return fact32(d, "limit_mw", v); }
int nvmlDeviceGetTemperature(Device *d, int sensor, u32 *v) { (void)sensor; return fact32(d, "temperature", v); }
int nvmlDeviceGetUtilizationRates(Device *d, u32 *v) { v[1] = 0; return fact32(d, "utilization", v); }
int nvmlDeviceGetTotalEccErrors(Device *d, int kind, int counter, u64 *v) { (void)kind; (void)counter; return fact(d, "ecc", v); }
int nvmlDeviceGetNvLinkState(Device *d, u32 link, u32 *v) { (void)d; (void)link; (void)v; return NOT_SUPPORTED; }

int nvmlEventSetCreate(Device ***set) { *set = calloc(1, sizeof **set); return 0; }
int nvmlEventSetFree(Device **set) { free(set); return 0; }
int nvmlDeviceRegisterEvents(Device *d, u64 kinds, Device **set) { (void)kinds; *set = d; return 0; }
int nvmlEventSetWait_v2(Device **set, Event *e, u32 milliseconds) {
  char file[32];
  snprintf(file, sizeof file, "xid-%d", (*set)->ordinal);
  for (u32 waited = 0; waited < milliseconds; waited += 10) {
    FILE *f = fopen(beside(file), "r");
    if (f) {
      int n = fscanf(f, "%lu", &e->data);
      fclose(f);
      if (n == 1) {
        unlink(beside(file));
        e->device = *set;
        e->kind = 8;
        return 0;
      }
    }
    usleep(10000);
  }
  return TIMEOUT;
}
int nvmlEventSetWait(Device **set, Event *e, u32 milliseconds) { return nvmlEventSetWait_v2(set, e, milliseconds); }
