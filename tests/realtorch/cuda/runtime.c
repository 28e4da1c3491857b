/* libcudart.so: launches do nothing, copies to the host fill with zeros, memory is counted. MAJOR is CUDA's. */
#define _GNU_SOURCE
#include "core.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status);

static __thread int last_error;
static uint64_t launches;

static int fail(int error) {
    last_error = error;
    return error;
}

/* ---- devices ---- */
int cudaGetDeviceCount(int *n) {
    *n = fc_device_count();
    return *n ? 0 : fail(100);
}

int cudaGetDevice(int *device) {
    *device = fc_current_device;
    return 0;
}

int cudaSetDevice(int device) {
    if (device < 0 || device >= fc_device_count())
        return fail(101);
    fc_current_device = device;
    return 0;
}

int cudaDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = fc_attribute(attribute);
    return 0;
}

/* Offsets of cudaDeviceProp: the same up to texturePitchAlignment; CUDA 13 dropped some fields behind it. */
static void put(void *prop, size_t offset, int value) {
    memcpy((char *)prop + offset, &value, sizeof value);
}

static void put_size(void *prop, size_t offset, size_t value) {
    memcpy((char *)prop + offset, &value, sizeof value);
}

static int properties(void *prop, int device) {
    bool v13 = MAJOR >= 13;
    memset(prop, 0, v13 ? 1008 : 1032);
    snprintf(prop, 256, "NVIDIA H100 80GB HBM3");
    memset((char *)prop + 256, 0x10 + device, 16);
    put_size(prop, 288, fc_capacity());
    put_size(prop, 296, 49152);
    put(prop, 304, 65536);
    put(prop, 308, 32);
    put_size(prop, 312, 2147483647);
    put(prop, 320, 1024);
    put(prop, 324, 1024);
    put(prop, 328, 1024);
    put(prop, 332, 64);
    put(prop, 336, 2147483647);
    put(prop, 340, 65535);
    put(prop, 344, 65535);
    put_size(prop, 352, 65536);
    put(prop, 360, fc_attribute(75));
    put(prop, 364, fc_attribute(76));
    put_size(prop, 368, 512);
    put_size(prop, 376, 32);
    put(prop, v13 ? 384 : 388, fc_attribute(16));
    put(prop, v13 ? 392 : 400, 1);
    put(prop, v13 ? 560 : 576, 1);
    put(prop, v13 ? 564 : 580, 1);
    put(prop, v13 ? 568 : 584, 0x1b + device);
    put(prop, v13 ? 584 : 600, 3);
    put(prop, v13 ? 588 : 604, 1);
    put(prop, v13 ? 592 : 612, 5120);
    put(prop, v13 ? 596 : 616, 50 << 20);
    put(prop, v13 ? 604 : 624, 2048);
    put(prop, v13 ? 608 : 628, 1);
    put_size(prop, v13 ? 624 : 640, 233472);
    put(prop, v13 ? 632 : 648, 65536);
    put(prop, v13 ? 636 : 652, 1);
    put(prop, v13 ? 668 : 688, 1);
    put_size(prop, v13 ? 672 : 696, 232448);
    put(prop, v13 ? 688 : 712, 32);
    put_size(prop, v13 ? 696 : 720, 1024);
    return 0;
}

int cudaGetDeviceProperties_v2(void *prop, int device) {
    return properties(prop, device);
}

int cudaGetDeviceProperties(void *prop, int device) {
    return properties(prop, device);
}

int cudaDeviceGetPCIBusId(char *text, int room, int device) {
    snprintf(text, (size_t)room, "0000:%02X:00.0", 0x1b + device);
    return 0;
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return 0;
}

int cudaDeviceCanAccessPeer(int *can, int a, int b) {
    (void)a, (void)b;
    *can = 0;
    return 0;
}

int cudaDriverGetVersion(int *version) {
    *version = 13010;
    return 0;
}

int cudaRuntimeGetVersion(int *version) {
    *version = MAJOR >= 13 ? 13000 : 12080;
    return 0;
}

/* ---- errors ---- */
int cudaGetLastError(void) {
    int error = last_error;
    last_error = 0;
    return error;
}

int cudaPeekAtLastError(void) {
    return last_error;
}

const char *cudaGetErrorString(int error) {
    return error == 0                  ? "no error"
           : error == FC_OUT_OF_MEMORY ? "out of memory"
           : error == 600              ? "device not ready"
                                       : "stand-in error";
}

const char *cudaGetErrorName(int error) {
    return error == 0                  ? "cudaSuccess"
           : error == FC_OUT_OF_MEMORY ? "cudaErrorMemoryAllocation"
                                       : "cudaErrorUnknown";
}

/* ---- memory ---- */
int cudaMalloc(void **p, size_t size) {
    uint64_t address = fc_malloc(fc_current_device, size);
    if (!address)
        return fail(FC_OUT_OF_MEMORY);
    *p = (void *)address;
    return 0;
}

int cudaFree(void *p) {
    if (!p) {
        fc_used(fc_current_device);
        return 0;
    }
    return fc_free((uint64_t)p) ? 0 : fail(FC_INVALID_VALUE);
}

int cudaMallocAsync(void **p, size_t size, void *stream) {
    (void)stream;
    return cudaMalloc(p, size);
}

int cudaFreeAsync(void *p, void *stream) {
    (void)stream;
    return cudaFree(p);
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total) {
    *total = fc_capacity();
    uint64_t used = fc_used(fc_current_device);
    *free_bytes = used > *total ? 0 : *total - used;
    return 0;
}

struct pinned {
    struct pinned *next;
    char *begin;
    size_t size;
    bool own;
};
static struct pinned *pinned;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void pin(void *p, size_t size, bool own) {
    struct pinned *e = malloc(sizeof *e);
    pthread_mutex_lock(&lock);
    *e = (struct pinned){pinned, p, size, own};
    pinned = e;
    pthread_mutex_unlock(&lock);
}

static bool unpin(void *p, size_t *size) {
    bool found = false;
    pthread_mutex_lock(&lock);
    for (struct pinned **e = &pinned; *e; e = &(*e)->next) {
        if ((*e)->begin == p) {
            struct pinned *gone = *e;
            *size = gone->size;
            *e = gone->next;
            free(gone);
            found = true;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int cudaHostAlloc(void **p, size_t size, unsigned flags) {
    (void)flags;
    size_t rounded = (size + 4095) & ~(size_t)4095;
    void *q = mmap(NULL, rounded ? rounded : 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (q == MAP_FAILED)
        return fail(FC_OUT_OF_MEMORY);
    pin(q, rounded ? rounded : 4096, true);
    *p = q;
    return 0;
}

int cudaMallocHost(void **p, size_t size) {
    return cudaHostAlloc(p, size, 0);
}

int cudaFreeHost(void *p) {
    size_t size;
    if (p && unpin(p, &size))
        munmap(p, size);
    return 0;
}

int cudaHostRegister(void *p, size_t size, unsigned flags) {
    (void)flags;
    pin(p, size, false);
    return 0;
}

int cudaHostUnregister(void *p) {
    size_t size;
    unpin(p, &size);
    return 0;
}

int cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
    (void)flags;
    *device = host;
    return 0;
}

struct pointer_attributes {
    int type, device;
    void *on_device, *on_host;
};

int cudaPointerGetAttributes(struct pointer_attributes *out, const void *p) {
    memset(out, 0, sizeof *out);
    int device = fc_device_of((uint64_t)p);
    if (device >= 0) {
        *out = (struct pointer_attributes){2, device, (void *)p, NULL};
        return 0;
    }
    out->device = -1;
    pthread_mutex_lock(&lock);
    for (struct pinned *e = pinned; e; e = e->next)
        if ((const char *)p - e->begin >= 0 && (size_t)((const char *)p - e->begin) < e->size)
            *out = (struct pointer_attributes){1, 0, (void *)p, (void *)p};
    pthread_mutex_unlock(&lock);
    return 0;
}

static void copy(void *to, const void *from, size_t size) {
    if (fc_device_of((uint64_t)to) >= 0)
        return;
    if (fc_device_of((uint64_t)from) >= 0)
        memset(to, 0, size);
    else
        memcpy(to, from, size);
}

int cudaMemcpy(void *to, const void *from, size_t size, int kind) {
    (void)kind;
    copy(to, from, size);
    return 0;
}

int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream) {
    (void)kind, (void)stream;
    copy(to, from, size);
    return 0;
}

int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t height, int kind, void *stream) {
    (void)kind, (void)stream;
    for (size_t i = 0; i < height; i++)
        copy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
    return 0;
}

int cudaMemset(void *p, int value, size_t size) {
    if (fc_device_of((uint64_t)p) < 0)
        memset(p, value, size);
    return 0;
}

int cudaMemsetAsync(void *p, int value, size_t size, void *stream) {
    (void)stream;
    return cudaMemset(p, value, size);
}

/* ---- kernels ---- */
void **__cudaRegisterFatBinary(void *image) {
    static void *handle;
    (void)image;
    return &handle;
}

char __cudaInitModule(void **handle) {
    (void)handle;
    return 1;
}

unsigned __cudaPushCallConfiguration(void) {
    return 0;
}

int __cudaPopCallConfiguration(unsigned *grid, unsigned *block, size_t *shared, void **stream) {
    for (int i = 0; i < 3; i++)
        grid[i] = block[i] = 1;
    *shared = 0;
    *stream = NULL;
    return 0;
}

int __cudaGetKernel(void **kernel, const void *function) {
    *kernel = (void *)function;
    return 0;
}

int cudaGetKernel(void **kernel, const void *function) {
    *kernel = (void *)function;
    return 0;
}

int cudaGetFuncBySymbol(void **out, const void *function) {
    *out = (void *)function;
    return 0;
}

int __cudaLaunchKernel(void) {
    __sync_fetch_and_add(&launches, 1);
    return 0;
}

int cudaLaunchKernel(void) {
    __sync_fetch_and_add(&launches, 1);
    return 0;
}

int cudaLaunchKernelExC(void) {
    __sync_fetch_and_add(&launches, 1);
    return 0;
}

int cudaLaunchCooperativeKernel(void) {
    __sync_fetch_and_add(&launches, 1);
    return 0;
}

int cudaFuncGetAttributes(void *out, const void *function) {
    (void)function;
    memset(out, 0, 144);
    put(out, 24, 1024); /* threads a block */
    put(out, 28, 32);   /* registers */
    put(out, 32, 90);   /* PTX */
    put(out, 36, 90);   /* binary */
    put(out, 44, 232448);
    return 0;
}

static int blocks(int *n, int threads) {
    int fit = threads > 0 ? 2048 / threads : 1;
    *n = fit < 1 ? 1 : fit > 32 ? 32 : fit;
    return 0;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *function, int threads, size_t shared) {
    (void)function, (void)shared;
    return blocks(n, threads);
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *function, int threads,
                                                           size_t shared, unsigned flags) {
    (void)function, (void)shared, (void)flags;
    return blocks(n, threads);
}

int cudaOccupancyMaxActiveClusters(int *n, const void *function, const void *config) {
    (void)function, (void)config;
    *n = 66;
    return 0;
}

/* ---- streams, events, graphs ---- */
struct stream {
    struct stream *next;
    int priority;
    uint64_t capture; /* 0: none */
};
struct event {
    uint64_t capture, launched;
    double at;
    bool recorded;
};
static struct stream default_stream, *streams;
static uint64_t captures;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct stream *of(void *stream) {
    return (uintptr_t)stream < 16 ? &default_stream : stream;
}

int cudaStreamCreateWithPriority(void **out, unsigned flags, int priority) {
    (void)flags;
    struct stream *s = calloc(1, sizeof *s);
    s->priority = priority;
    pthread_mutex_lock(&lock);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&lock);
    *out = s;
    return 0;
}

int cudaStreamCreate(void **out) {
    return cudaStreamCreateWithPriority(out, 0, 0);
}

int cudaStreamCreateWithFlags(void **out, unsigned flags) {
    return cudaStreamCreateWithPriority(out, flags, 0);
}

int cudaStreamGetPriority(void *stream, int *priority) {
    *priority = of(stream)->priority;
    return 0;
}

int cudaStreamGetFlags(void *stream, unsigned *flags) {
    (void)stream;
    *flags = 1;
    return 0;
}

int cudaStreamIsCapturing(void *stream, int *status) {
    *status = of(stream)->capture ? 1 : 0;
    return 0;
}

int cudaStreamBeginCapture(void *stream, int mode) {
    (void)mode;
    of(stream)->capture = __sync_add_and_fetch(&captures, 1);
    return 0;
}

int cudaStreamBeginCaptureToGraph(void *stream) {
    return cudaStreamBeginCapture(stream, 0);
}

int cudaStreamEndCapture(void *stream, void **graph) {
    uint64_t id = of(stream)->capture;
    pthread_mutex_lock(&lock);
    for (struct stream *s = streams; s; s = s->next)
        if (s->capture == id)
            s->capture = 0;
    of(stream)->capture = 0;
    pthread_mutex_unlock(&lock);
    *graph = malloc(16);
    return 0;
}

static int capture_info(void *stream, int *status, unsigned long long *id, void **graph, void **deps,
                        size_t *n) {
    static char a_graph[16];
    struct stream *s = of(stream);
    if (status)
        *status = s->capture ? 1 : 0;
    if (id)
        *id = s->capture;
    if (graph)
        *graph = s->capture ? a_graph : NULL;
    if (deps)
        *deps = NULL;
    if (n)
        *n = 0;
    return 0;
}

int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph, void **deps,
                                size_t *n) {
    return capture_info(stream, status, id, graph, deps, n);
}

int cudaStreamGetCaptureInfo_v3(void *stream, int *status, unsigned long long *id, void **graph, void **deps,
                                void **edges, size_t *n) {
    if (edges)
        *edges = NULL;
    return capture_info(stream, status, id, graph, deps, n);
}

#if MAJOR >= 13
int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph, void **deps,
                             void **edges, size_t *n) {
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, deps, edges, n);
}
#else
int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id) {
    return capture_info(stream, status, id, NULL, NULL, NULL);
}
#endif

int cudaGraphInstantiate(void **exec) {
    *exec = malloc(16);
    return 0;
}

int cudaGraphInstantiateWithFlags(void **exec) {
    *exec = malloc(16);
    return 0;
}

int cudaGraphGetNodes(void *graph, void **nodes, size_t *n) {
    (void)graph, (void)nodes;
    *n = 1;
    return 0;
}

int cudaEventCreateWithFlags(void **out, unsigned flags) {
    (void)flags;
    *out = calloc(1, sizeof(struct event));
    return 0;
}

int cudaEventCreate(void **out) {
    return cudaEventCreateWithFlags(out, 0);
}

int cudaEventDestroy(void *event) {
    free(event);
    return 0;
}

int cudaEventRecord(void *event, void *stream) {
    struct event *e = event;
    *e = (struct event){of(stream)->capture, launches, now(), true};
    return 0;
}

int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags) {
    (void)flags;
    return cudaEventRecord(event, stream);
}

/* FAKECUDA_LAG: an event is finished only after so many more launches, as on a device that runs behind its host. */
int cudaEventQuery(void *event) {
    static long lag = -1;
    if (lag < 0) {
        const char *text = getenv("FAKECUDA_LAG");
        lag = text ? atol(text) : 0;
    }
    struct event *e = event;
    if (e->recorded && launches - e->launched < (uint64_t)lag)
        return fail(600);
    return 0;
}

int cudaEventSynchronize(void *event) {
    ((struct event *)event)->recorded = false;
    return 0;
}

int cudaEventElapsedTime(float *ms, void *a, void *b) {
    *ms = (float)((((struct event *)b)->at - ((struct event *)a)->at) * 1e3);
    return 0;
}

int cudaEventElapsedTime_v2(float *ms, void *a, void *b) {
    return cudaEventElapsedTime(ms, a, b);
}

int cudaStreamWaitEvent(void *stream, void *event, unsigned flags) {
    (void)flags;
    if (((struct event *)event)->capture)
        of(stream)->capture = ((struct event *)event)->capture;
    return 0;
}

int cudaStreamAddCallback(void *stream, void (*call)(void *, int, void *), void *data, unsigned flags) {
    (void)flags;
    call(stream, 0, data);
    return 0;
}

int cudaLaunchHostFunc(void *stream, void (*call)(void *), void *data) {
    (void)stream;
    call(data);
    return 0;
}

/* ---- the driver's functions by name ---- */
int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags, int *status) {
    return cuGetProcAddress_v2(symbol, function, 0, flags, status);
}

int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                     unsigned long long flags, int *status) {
    return cuGetProcAddress_v2(symbol, function, (int)version, flags, status);
}

int cudaGetDriverEntryPoint_v2(const char *symbol, void **function, unsigned version,
                               unsigned long long flags, int *status) {
    return cuGetProcAddress_v2(symbol, function, (int)version, flags, status);
}
