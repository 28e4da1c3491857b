/* libnvidia-ml.so.1: memory and processes of the stand-in devices (of other processes too with FAKECUDA_SHARE). */
#include "core.h"

#include <stdio.h>
#include <string.h>

int nvmlInit_v2(void) {
    return 0;
}
int nvmlInit(void) {
    return 0;
}
int nvmlShutdown(void) {
    return 0;
}
const char *nvmlErrorString(int e) {
    return e ? "error" : "success";
}

int nvmlSystemGetCudaDriverVersion_v2(int *v) {
    *v = 13010;
    return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned room) {
    snprintf(text, room, "580.00");
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n) {
    *n = (unsigned)fc_device_count();
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device) {
    *device = (void *)(uintptr_t)(i + 1);
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
    unsigned domain = 0, id = 0x1b;
    sscanf(bus, "%x:%x", &domain, &id);
    *device = (void *)(uintptr_t)(id - 0x1b + 1);
    return 0;
}

static int index_of(void *device) {
    int i = (int)(uintptr_t)device - 1;
    return i < 0 || i >= FC_MAX_DEVICES ? 0 : i;
}

int nvmlDeviceGetIndex(void *device, unsigned *i) {
    *i = (unsigned)index_of(device);
    return 0;
}

int nvmlDeviceGetName(void *device, char *text, unsigned room) {
    (void)device;
    snprintf(text, room, "NVIDIA H100 80GB HBM3");
    return 0;
}

static uint64_t used_by_all(int device) {
    struct fc_process p[512];
    uint64_t sum = 0;
    int n = fc_processes(device, p, 512);
    for (int i = 0; i < n; i++)
        sum += p[i].used;
    return sum;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *info) {
    unsigned long long used = used_by_all(index_of(device));
    info[0] = fc_capacity();
    info[1] = fc_capacity() - used;
    info[2] = used;
    return 0;
}

int nvmlDeviceGetMemoryInfo_v2(void *device, unsigned long long *info) {
    unsigned long long used = used_by_all(index_of(device));
    info[1] = fc_capacity();
    info[2] = 0;
    info[3] = fc_capacity() - used;
    info[4] = used;
    return 0;
}

static int processes(void *device, unsigned *n, char *out, size_t row) {
    struct fc_process p[512];
    int found = fc_processes(index_of(device), p, 512);
    if ((unsigned)found > *n)
        return 7;
    for (int i = 0; i < found; i++) {
        memset(out + (size_t)i * row, 0, row);
        memcpy(out + (size_t)i * row, &p[i].pid, 4);
        memcpy(out + (size_t)i * row + 8, &p[i].used, 8);
    }
    *n = (unsigned)found;
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *n, void *out) {
    return processes(device, n, out, 16);
}
int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *n, void *out) {
    return processes(device, n, out, 24);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, void *out) {
    return processes(device, n, out, 24);
}

/* No fabric: the caller's structure stays as it is, which says «not started». */
int nvmlDeviceGetGpuFabricInfoV(void *device, void *info) {
    (void)device, (void)info;
    return 0;
}
