// What the made-up libraries share; it is put before each of them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t u64;
typedef uint32_t u32;
enum { PATH = 4096 };

// beside is the path of a file in the folder of this very library.
static const char *beside(const char *name) {
  static __thread char path[PATH];
  Dl_info info;
  dladdr((void *)beside, &info);
  const char *slash = strrchr(info.dli_fname, '/');
  snprintf(path, PATH, "%.*s/%s", slash ? (int)(slash - info.dli_fname) : 1, slash ? info.dli_fname : ".", name);
  return path;
}

