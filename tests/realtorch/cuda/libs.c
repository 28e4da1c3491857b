/* Functions of CUDA's libraries that must do more than return 0. Each goes to the library that torch expects it in. */
#include <stddef.h>
#include <string.h>

static char object[256];

#define MAKES(name)        \
    int name(void **out) { \
        *out = object;     \
        return 0;          \
    }
#define TELLS(name)          \
    const char *name(void) { \
        return "stand-in";   \
    }

MAKES(cublasCreate_v2)
MAKES(cublasLtCreate)
MAKES(cublasLtMatmulDescCreate)
MAKES(cublasLtMatrixLayoutCreate)
MAKES(cublasLtMatmulPreferenceCreate)
MAKES(cusparseCreate)
MAKES(cusolverDnCreate)
MAKES(cusolverDnCreateParams)
MAKES(cudnnCreate)
MAKES(cudnnCreateTensorDescriptor)
MAKES(cudnnCreateFilterDescriptor)
MAKES(cudnnCreateConvolutionDescriptor)
MAKES(ncclCommInitRank)
MAKES(ncclCommInitRankConfig)
MAKES(ncclCommInitRankScalable)
TELLS(cublasGetStatusString)
TELLS(cublasLtGetStatusString)
TELLS(cusparseGetErrorString)
TELLS(cusparseGetErrorName)
TELLS(cudnnGetErrorString)
TELLS(ncclGetErrorString)
TELLS(ncclGetLastError)
TELLS(nvrtcGetErrorString)

int cublasGetMathMode(void *handle, int *mode) {
    (void)handle;
    *mode = 0;
    return 0;
}

int cublasGetPointerMode_v2(void *handle, int *mode) {
    (void)handle;
    *mode = 0;
    return 0;
}

int cublasGetVersion_v2(void *handle, int *version) {
    (void)handle;
    *version = 120800;
    return 0;
}

size_t cublasLtGetVersion(void) {
    return 120800;
}

/* One algorithm that needs no workspace. */
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *matmul, void *a, void *b, void *c, void *d,
                                   void *preference, int wanted, char *results, int *found) {
    (void)handle, (void)matmul, (void)a, (void)b, (void)c, (void)d, (void)preference;
    memset(results, 0, 96 * (size_t)(wanted > 0 ? 1 : 0));
    *found = wanted > 0;
    return 0;
}

int cudnnGetVersion(void) {
#ifdef CUDNN8
    return 8999;
#else
    return 99900;
#endif
}

int cudnnGetCudartVersion(void) {
    return 12080;
}

int ncclGetVersion(int *version) {
    *version = 22703;
    return 0;
}

int ncclCommGetAsyncError(void *comm, int *error) {
    (void)comm;
    *error = 0;
    return 0;
}

int ncclCommSplit(void *comm, int color, int key, void **out) {
    (void)comm, (void)color, (void)key;
    *out = object;
    return 0;
}

int ncclGetUniqueId(char *id) {
    memset(id, 7, 128);
    return 0;
}

int nvrtcVersion(int *major, int *minor) {
    *major = 12;
    *minor = 8;
    return 0;
}

int nvrtcGetNumSupportedArchs(int *n) {
    *n = 1;
    return 0;
}

int nvrtcGetSupportedArchs(int *archs) {
    *archs = 90;
    return 0;
}
