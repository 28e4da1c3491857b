/* libcuda.so.1: no device behind it. Addresses come from ranges reserved without access, bytes are only counted. */
#define _GNU_SOURCE
#include "core.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

__thread int fc_current_device;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t used[FC_MAX_DEVICES];
static bool context_made[FC_MAX_DEVICES];

static uint64_t size_of_text(const char *text, uint64_t otherwise) {
    if (!text || !*text)
        return otherwise;
    char *end;
    double value = strtod(text, &end);
    uint64_t unit = 1;
    if (*end == 'K' || *end == 'k')
        unit = 1024;
    else if (*end == 'M' || *end == 'm')
        unit = 1024 * 1024;
    else if (*end == 'G' || *end == 'g')
        unit = (uint64_t)1024 * 1024 * 1024;
    return (uint64_t)(value * (double)unit);
}

int fc_device_count(void) {
    const char *text = getenv("FAKECUDA_DEVICES");
    int n = text ? atoi(text) : 1;
    return n < 0 ? 0 : n > FC_MAX_DEVICES ? FC_MAX_DEVICES : n;
}

uint64_t fc_capacity(void) {
    static uint64_t capacity;
    if (!capacity)
        capacity = size_of_text(getenv("FAKECUDA_MEM"), (uint64_t)80 << 30);
    return capacity;
}

uint64_t fc_context(void) {
    static uint64_t context = UINT64_MAX;
    if (context == UINT64_MAX)
        context = size_of_text(getenv("FAKECUDA_CONTEXT"), 0);
    return context;
}

void fc_trace(const char *name) {
    static int on = -1;
    if (on < 0) {
        const char *text = getenv("FAKECUDA_TRACE");
        on = text && *text && *text != '0';
    }
    if (on)
        fprintf(stderr, "fakecuda: %s\n", name);
}

/* Processes that share devices through the file FAKECUDA_SHARE. */
enum { ROWS = 512 };
static struct fc_process *rows(void) {
    static struct fc_process *table;
    static bool tried;
    if (tried)
        return table;
    tried = true;
    const char *path = getenv("FAKECUDA_SHARE");
    if (!path || !*path)
        return NULL;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0)
        return NULL;
    if (ftruncate(fd, ROWS * sizeof(struct fc_process)) == 0) {
        void *p = mmap(NULL, ROWS * sizeof(struct fc_process), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED)
            table = p;
    }
    close(fd);
    return table;
}

static void publish(int device) {
    struct fc_process *t = rows();
    if (!t)
        return;
    int32_t pid = (int32_t)getpid();
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < ROWS; i++) {
            int32_t other = t[i].pid;
            bool mine = other == pid && t[i].device == device;
            bool vacant = pass == 1 && (other == 0 || (other != pid && kill(other, 0) != 0));
            if (vacant && __sync_bool_compare_and_swap(&t[i].pid, other, pid)) {
                t[i].device = device;
                mine = true;
            }
            if (mine) {
                t[i].used = used[device] + (context_made[device] ? fc_context() : 0);
                return;
            }
        }
    }
}

int fc_processes(int device, struct fc_process *out, int room) {
    struct fc_process *t = rows();
    int n = 0;
    if (!t) {
        if (context_made[device] && room > 0)
            out[n++] = (struct fc_process){(int32_t)getpid(), device, used[device] + fc_context()};
        return n;
    }
    for (int i = 0; i < ROWS && n < room; i++)
        if (t[i].pid && t[i].device == device && kill(t[i].pid, 0) == 0)
            out[n++] = t[i];
    return n;
}

static uint64_t used_by_others(int device) {
    struct fc_process *t = rows();
    uint64_t sum = 0;
    for (int i = 0; t && i < ROWS; i++)
        if (t[i].pid && t[i].pid != (int32_t)getpid() && t[i].device == device && kill(t[i].pid, 0) == 0)
            sum += t[i].used;
    return sum;
}

static uint64_t used_locked(int device) {
    return used[device] + (context_made[device] ? fc_context() : 0) + used_by_others(device);
}

static void make_context(int device) {
    if (!context_made[device]) {
        context_made[device] = true;
        publish(device);
    }
}

uint64_t fc_used(int device) {
    pthread_mutex_lock(&lock);
    make_context(device);
    uint64_t sum = used_locked(device);
    pthread_mutex_unlock(&lock);
    return sum;
}

static bool take_locked(int device, uint64_t size) {
    make_context(device);
    if (used_locked(device) + size > fc_capacity())
        return false;
    used[device] += size;
    publish(device);
    return true;
}

bool fc_take(int device, uint64_t size) {
    pthread_mutex_lock(&lock);
    bool ok = take_locked(device, size);
    pthread_mutex_unlock(&lock);
    return ok;
}

void fc_give(int device, uint64_t size) {
    pthread_mutex_lock(&lock);
    used[device] -= size;
    publish(device);
    pthread_mutex_unlock(&lock);
}

/* Ranges given out by cudaMalloc, by address; first fit, or last fit with FAKECUDA_DESCENDING. */
struct range {
    uint64_t begin, size;
};
static struct {
    uint64_t base, size;
    struct range *ranges;
    size_t n, room;
} heaps[FC_MAX_DEVICES];

static struct { uint64_t base, size; } reserved[256];
static int n_reserved;

uint64_t fc_reserve(uint64_t size) {
    size = (size + FC_GRANULE - 1) & ~(FC_GRANULE - 1);
    void *p = mmap(NULL, size + FC_GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return 0;
    uint64_t base = ((uint64_t)p + FC_GRANULE - 1) & ~(FC_GRANULE - 1);
    if (n_reserved < 256) {
        reserved[n_reserved].base = base;
        reserved[n_reserved].size = size;
        n_reserved++;
    }
    return base;
}

uint64_t fc_malloc(int device, uint64_t size) {
    size = (size + FC_GRANULE - 1) & ~(FC_GRANULE - 1);
    if (!size)
        size = FC_GRANULE;
    pthread_mutex_lock(&lock);
    uint64_t address = 0;
    if (!heaps[device].base) {
        heaps[device].size = (uint64_t)1 << 40;
        heaps[device].base = fc_reserve(heaps[device].size);
    }
    if (heaps[device].base && take_locked(device, size)) {
        struct range *r = heaps[device].ranges;
        size_t n = heaps[device].n, at;
        if (getenv("FAKECUDA_DESCENDING")) {
            uint64_t end = heaps[device].base + heaps[device].size;
            for (at = n; at > 0 && end - (r[at - 1].begin + r[at - 1].size) < size; at--)
                end = r[at - 1].begin;
            address = end - size;
        } else {
            uint64_t begin = heaps[device].base;
            for (at = 0; at < n && r[at].begin - begin < size; at++)
                begin = r[at].begin + r[at].size;
            address = begin;
        }
        if (n == heaps[device].room) {
            heaps[device].room = n ? 2 * n : 64;
            r = heaps[device].ranges = realloc(r, heaps[device].room * sizeof *r);
        }
        memmove(r + at + 1, r + at, (n - at) * sizeof *r);
        r[at] = (struct range){address, size};
        heaps[device].n++;
    }
    pthread_mutex_unlock(&lock);
    return address;
}

bool fc_free(uint64_t address) {
    bool found = false;
    pthread_mutex_lock(&lock);
    for (int device = 0; device < FC_MAX_DEVICES && !found; device++) {
        struct range *r = heaps[device].ranges;
        for (size_t i = 0; i < heaps[device].n; i++) {
            if (r[i].begin != address)
                continue;
            used[device] -= r[i].size;
            memmove(r + i, r + i + 1, (heaps[device].n - i - 1) * sizeof *r);
            heaps[device].n--;
            publish(device);
            found = true;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int fc_device_of(uint64_t address) {
    for (int i = 0; i < n_reserved; i++) {
        if (address - reserved[i].base >= reserved[i].size)
            continue;
        for (int device = 0; device < FC_MAX_DEVICES; device++)
            if (heaps[device].base == reserved[i].base)
                return device;
        return 0;
    }
    return -1;
}

int fc_attribute(int attribute) {
    switch (attribute) {
    case 1:
    case 2:
    case 3: return 1024; /* threads a block */
    case 4: return 64;
    case 5: return 2147483647; /* grid */
    case 6:
    case 7: return 65535;
    case 8: return 49152; /* shared memory a block */
    case 9: return 65536;
    case 10: return 32; /* warp */
    case 11: return 2147483647;
    case 12: return 65536; /* registers a block */
    case 13: return 1980000;
    case 14: return 512;
    case 15: return 1;
    case 16: return 132; /* multiprocessors */
    case 19: return 1;
    case 31: return 1;
    case 32: return 1;
    case 33: return 0x1b;
    case 36: return 2619000;
    case 37: return 5120;
    case 38: return 50 << 20; /* level 2 cache */
    case 39: return 2048;     /* threads a multiprocessor */
    case 40: return 3;
    case 41: return 1; /* unified addressing */
    case 51: return 32;
    case 75: return 9; /* compute capability */
    case 76: return 0;
    case 78:
    case 79:
    case 80: return 1;
    case 81: return 233472; /* shared memory a multiprocessor */
    case 82: return 65536;
    case 83: return 1;
    case 89:
    case 90:
    case 91:
    case 95: return 1;
    case 97: return 232448; /* shared memory a block, opted in */
    case 99: return 1;
    case 102: return 1;  /* virtual memory management */
    case 106: return 32; /* blocks a multiprocessor */
    case 111: return 1024;
    case 115: return 1;
    case 120: return 1;
    default: return 0;
    }
}

/* Physical memory of cuMemCreate: given back when neither a handle nor a mapping is left. */
struct piece {
    uint64_t size;
    int device, references;
};
struct mapping {
    uint64_t address, size;
    struct piece *piece;
};
static struct mapping *mappings;
static size_t n_mappings, room_mappings;

static void drop(struct piece *p) {
    if (--p->references == 0) {
        fc_give(p->device, p->size);
        free(p);
    }
}

struct allocation_property { /* CUmemAllocationProp up to its location */
    int type, handle_types, location_type, location_id;
};

int cuMemCreate(uint64_t *handle, size_t size, const struct allocation_property *prop,
                unsigned long long flags) {
    (void)flags;
    int device = prop && prop->location_type == 1 ? prop->location_id : 0;
    if (!fc_take(device, size))
        return FC_OUT_OF_MEMORY;
    struct piece *p = malloc(sizeof *p);
    *p = (struct piece){size, device, 1};
    *handle = (uint64_t)p;
    return 0;
}

int cuMemRelease(uint64_t handle) {
    drop((struct piece *)handle);
    return 0;
}

int cuMemMap(uint64_t address, size_t size, size_t offset, uint64_t handle, unsigned long long flags) {
    (void)offset, (void)flags;
    pthread_mutex_lock(&lock);
    if (n_mappings == room_mappings) {
        room_mappings = room_mappings ? 2 * room_mappings : 256;
        mappings = realloc(mappings, room_mappings * sizeof *mappings);
    }
    struct piece *p = (struct piece *)handle;
    p->references++;
    mappings[n_mappings++] = (struct mapping){address, size, p};
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuMemUnmap(uint64_t address, size_t size) {
    for (;;) {
        struct piece *p = NULL;
        pthread_mutex_lock(&lock);
        for (size_t i = 0; i < n_mappings; i++) {
            if (mappings[i].address - address < size) {
                p = mappings[i].piece;
                mappings[i] = mappings[--n_mappings];
                break;
            }
        }
        pthread_mutex_unlock(&lock);
        if (!p)
            return 0;
        drop(p);
    }
}

int cuMemAddressReserve(uint64_t *address, size_t size, size_t alignment, uint64_t at,
                        unsigned long long flags) {
    (void)alignment, (void)at, (void)flags;
    pthread_mutex_lock(&lock);
    *address = fc_reserve(size);
    pthread_mutex_unlock(&lock);
    return *address ? 0 : FC_OUT_OF_MEMORY;
}

int cuMemAddressFree(uint64_t address, size_t size) {
    (void)address, (void)size; /* kept: an address is never given out twice */
    return 0;
}

int cuMemGetAllocationGranularity(size_t *granularity, const void *prop, int option) {
    (void)prop, (void)option;
    *granularity = FC_GRANULE;
    return 0;
}

int cuMemSetAccess(uint64_t address, size_t size, const void *access, size_t n) {
    (void)address, (void)size, (void)access, (void)n;
    return 0;
}

int cuMemExportToShareableHandle(void *out, uint64_t handle, int type, unsigned long long flags) {
    (void)out, (void)handle, (void)type, (void)flags;
    return 801;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
    *total = fc_capacity();
    *free_bytes = *total - fc_used(fc_current_device);
    return 0;
}

int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}

int cuDriverGetVersion(int *version) {
    *version = 13010;
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal < fc_device_count() ? 0 : 101;
}

int cuDeviceGetCount(int *n) {
    *n = fc_device_count();
    return 0;
}

int cuDeviceGetName(char *name, int room, int device) {
    (void)device;
    snprintf(name, (size_t)room, "Stand-in H100");
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = fc_attribute(attribute);
    return 0;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    *flags = 0;
    *active = device >= 0 && device < FC_MAX_DEVICES && context_made[device];
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    fc_used(device);
    *context = &context_made[device];
    return 0;
}

int cuCtxGetCurrent(void **context) {
    *context = context_made[fc_current_device] ? &context_made[fc_current_device] : NULL;
    return 0;
}

int cuCtxGetDevice(int *device) {
    *device = fc_current_device;
    return 0;
}

int cuGetErrorString(int error, const char **text) {
    *text = error == 0 ? "no error" : error == FC_OUT_OF_MEMORY ? "out of memory" : "stand-in error";
    return 0;
}

int cuGetErrorName(int error, const char **text) {
    *text = error == 0                  ? "CUDA_SUCCESS"
            : error == FC_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
                                        : "CUDA_ERROR_UNKNOWN";
    return 0;
}

static int nothing(void) {
    return 0;
}

static int find(const char *symbol, void **function) {
    static void *self;
    if (!self)
        self = dlopen("libcuda.so.1", RTLD_LAZY);
    char versioned[128];
    snprintf(versioned, sizeof versioned, "%s_v2", symbol);
    void *p = dlsym(self, symbol);
    if (!p)
        p = dlsym(self, versioned);
    if (!p) {
        fc_trace(symbol);
        p = (void *)nothing;
    }
    *function = p;
    return 0;
}

int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags) {
    (void)version, (void)flags;
    return find(symbol, function);
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status) {
    (void)version, (void)flags;
    if (status)
        *status = 0;
    return find(symbol, function);
}
