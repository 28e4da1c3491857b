#include "trace/own_code.h"

#include <stddef.h>

bool file_is_own(struct text file) {
    static const char *const others[] = {"-packages/",
                                         "/lib/python",
                                         "/lib64/python",
                                         "/pytorch/torch/",
                                         "/Lib/",
                                         "onda3/lib/",
                                         "/torchinductor_",
                                         "/torch/nn/",
                                         "/torch/autograd/",
                                         "/torch/_",
                                         "/torch/utils/",
                                         "/torch/optim/",
                                         "/torch/distributed",
                                         "/torch/cuda/",
                                         "/torch/multiprocessing/",
                                         "/torch/jit/",
                                         "/torch/tensor.py",
                                         "/torch/functional.py"};
    static const char *const beginnings[] = {"<frozen",  "<string>", "<eval_with_key>",
                                             "<__array", "torch/",   "lib/python"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (text_begins(file, beginnings[i]))
            return false;
    if (text_ends(file, ".pyx") || text_ends(file, ".pxi")) /* Cython's, of compiled libraries */
        return false;
    if (text_contains(file, "/bin/") &&
        !text_ends(file, ".py")) /* torchrun and other scripts that pip writes */
        return false;
    return !text_contains_any(file, others, sizeof others / sizeof *others);
}
