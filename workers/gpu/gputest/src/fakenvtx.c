// The tools extension that shows ranges to a profiler, for tests: it writes what is shown into the file "ranges" beside this library, a
// line for the begin and the end of each.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PATH = 4096 };

static void note(const char *what, unsigned long id, const char *name) {
  char path[PATH];
  Dl_info info;
  dladdr((void *)note, &info);
  const char *slash = strrchr(info.dli_fname, '/');
  snprintf(path, PATH, "%.*s/ranges", slash ? (int)(slash - info.dli_fname) : 1, slash ? info.dli_fname : ".");
  FILE *f = fopen(path, "a");
  if (!f) return;
  fprintf(f, "%s %lu %s\n", what, id, name);
  fclose(f);
}

unsigned long nvtxRangeStartA(const char *name) {
  static atomic_ulong ids;
  unsigned long id = ++ids;
  note("begin", id, name);
  return id;
}
void nvtxRangeEnd(unsigned long id) { note("end", id, ""); }
