/* The account of stand-in devices, shared by the stand-ins of libcuda, libcudart and NVML. */
#ifndef FAKECUDA_CORE_H
#define FAKECUDA_CORE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FC_GRANULE       ((uint64_t)2 << 20)
#define FC_MAX_DEVICES   16
#define FC_OUT_OF_MEMORY 2
#define FC_INVALID_VALUE 1

struct fc_process {
    int32_t pid;
    int32_t device;
    uint64_t used;
};

int fc_device_count(void);
uint64_t fc_capacity(void);   /* FAKECUDA_MEM: bytes of one device */
uint64_t fc_context(void);    /* FAKECUDA_CONTEXT: bytes that the context takes */
uint64_t fc_used(int device); /* bytes of all processes, contexts included */
bool fc_take(int device, uint64_t size);
void fc_give(int device, uint64_t size);
uint64_t fc_malloc(int device, uint64_t size); /* 0: no memory */
bool fc_free(uint64_t address);
int fc_device_of(uint64_t address); /* -1: not on a device */
uint64_t fc_reserve(uint64_t size);
int fc_processes(int device, struct fc_process *out, int room);
int fc_attribute(int attribute);
void fc_trace(const char *name);
extern __thread int fc_current_device;
#endif
