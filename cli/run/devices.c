#include "cli/run/devices.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* NVML's interface as its documentation has it: 0 is success, a device is a pointer. */
struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml {
    int (*init)(void);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*info)(void *device, struct nvml_memory *memory);
};

static const char library_name[] = "libnvidia-ml.so.1";

/* Finds a function of the library, of whatever type; POSIX guarantees that functions fit in a pointer. */
static void function_find(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

/* Finds all functions. False: one is missing. */
static bool functions_find(struct nvml *nvml, void *library) {
    function_find(library, "nvmlInit_v2", &nvml->init);
    function_find(library, "nvmlDeviceGetCount_v2", &nvml->count);
    function_find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->handle);
    function_find(library, "nvmlDeviceGetMemoryInfo", &nvml->info);
    return nvml->init != NULL && nvml->count != NULL && nvml->handle != NULL && nvml->info != NULL;
}

#ifdef STRATA_STATIC_PROGRAM
static void *library_load(struct devices *devices) {
    snprintf(devices->why_not, DEVICES_REASON, "this static program cannot load %s, NVIDIA's library",
             library_name);
    return NULL;
}
#else
static void *library_load(struct devices *devices) {
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        snprintf(devices->why_not, DEVICES_REASON, "%s, NVIDIA's library, is not there", library_name);
    return library;
}
#endif

/* Opens NVML. False: `devices` says why not. */
static bool library_open(struct nvml *nvml, struct devices *devices) {
    void *library = library_load(devices);
    int code = 0;
    if (library == NULL)
        return false;
    if (!functions_find(nvml, library))
        snprintf(devices->why_not, DEVICES_REASON, "%s lacks a function", library_name);
    else if ((code = nvml->init()) != 0 || (code = nvml->count(&devices->n)) != 0)
        snprintf(devices->why_not, DEVICES_REASON, "%s answers with error %d", library_name, code);
    else if (devices->n == 0)
        snprintf(devices->why_not, DEVICES_REASON, "%s knows of no device", library_name);
    devices->n = devices->n < DEVICES_MAX ? devices->n : DEVICES_MAX;
    return devices->why_not[0] == '\0';
}

/* Reads one device. A device that does not answer this time is left out. */
static void device_look(const struct nvml *nvml, struct devices *devices, unsigned index,
                        const struct folder *folder) {
    struct nvml_memory memory = {0};
    void *device = NULL;
    if (nvml->handle(index, &device) != 0 || nvml->info(device, &memory) != 0)
        return;
    devices->total_bytes[index] = memory.total;
    if (memory.used > devices->most_bytes[index])
        devices->most_bytes[index] = memory.used;
    folder_log(folder, "strata-device gpu=%u used=%llu total=%llu", index, memory.used, memory.total);
}

__attribute__((noreturn)) static void devices_watch(struct devices *devices, const struct folder *folder,
                                                    uint64_t every_us, pid_t parent) {
    const struct timespec pause = {(time_t)(every_us / 1000000), (long)(every_us % 1000000) * 1000};
    struct nvml nvml = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "strata-devices");
    bool watches = library_open(&nvml, devices);
    if (!watches)
        folder_log(folder, "strata-device none: %s", devices->why_not);
    while (watches && getppid() == parent) {
        for (unsigned i = 0; i < devices->n; i++)
            device_look(&nvml, devices, i, folder);
        nanosleep(&pause, NULL);
    }
    _exit(0);
}

struct devices *devices_begin(pid_t *process, const struct folder *folder, uint64_t every_us) {
    struct devices *devices =
        mmap(NULL, sizeof *devices, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = getpid();
    *process = devices != MAP_FAILED ? fork() : -1;
    if (*process == 0)
        devices_watch(devices, folder, every_us, parent);
    if (*process < 0 && devices != MAP_FAILED)
        munmap(devices, sizeof *devices);
    return *process < 0 ? NULL : devices;
}

void devices_end(const struct devices *devices, pid_t process) {
    if (devices != NULL)
        kill(process, SIGKILL);
}
