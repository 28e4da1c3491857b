"""Call stacks as torch records them with stacks="all": C++ frames innermost, Python frames between the interpreter's.

A frame is one dict per place in the code and shared by every stack that passes it, as in real files. A few C++ frames
have equal content and different identity, because torch tells them apart by instruction pointer.
"""

PROJECT = "/home/user/train/"
TORCH = "/home/user/venv/lib/python3.12/site-packages/torch/"

_GATHER = (
    ("torch::unwind::unwind()", "??"),
    ("torch::CapturedTraceback::gather(bool, bool, bool)", "??"),
    ("torch::cuda::(anonymous namespace)::gather_with_cpp()", "memory_snapshot.cpp"),
)
_MALLOC = _GATHER + (
    ("c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long, CUstream_st*)",
     "CUDACachingAllocator.cpp"),
    ("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc(void**, signed char, unsigned long, "
     "CUstream_st*)", ""),
    ("c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)", ""),
    ("at::detail::empty_generic(c10::ArrayRef<long>, c10::Allocator*, c10::DispatchKeySet, c10::ScalarType, "
     "std::optional<c10::MemoryFormat>)", "??"),
    ("at::detail::empty_cuda(c10::ArrayRef<long>, c10::TensorOptions const&)", "??"),
)
_FREE = _GATHER + (
    ("c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::free(c10::cuda::CUDACachingAllocator::Native::"
     "(anonymous namespace)::Block*)", "CUDACachingAllocator.cpp"),
    ("c10::cuda::CUDACachingAllocator::Native::local_raw_delete(void*)", "??"),
    ("c10::StorageImpl::~StorageImpl()", "Module.cpp"),
    ("c10::intrusive_ptr<c10::StorageImpl, c10::detail::intrusive_target_default_null_type<c10::StorageImpl> >"
     "::reset_()", "??"),
    ("c10::TensorImpl::~TensorImpl()", "??"),
    ("c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reset_()", "??"),
)
_EMPTY_CACHE = _GATHER + (
    ("c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::emptyCache(std::pair<unsigned long, "
     "unsigned long>)", "CUDACachingAllocator.cpp"),
    ("THCPModule_emptyCache(_object*, _object*)", "Module.cpp"),
)
_AUTOGRAD = (
    ("torch::autograd::Node::operator()(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)", ""),
    ("torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&, "
     "torch::autograd::Node*, torch::autograd::InputBuffer&, std::shared_ptr<torch::autograd::ReadyQueue> const&)",
     "??"),
    ("torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)", "??"),
    ("torch::autograd::Engine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue> const&, bool)", "??"),
    ("torch::autograd::python::PythonEngine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue> const&, "
     "bool)", ""),
    ("execute_native_thread_routine", "thread.cc"),
    ("start_thread", "pthread_create.c"),
    ("__clone", "??"),
)
# Interpreter frames between a Python frame and its caller.
_INTERPRETER = {"_call_impl": ("_PyEval_EvalFrameDefault", "_PyFunction_Vectorcall"),
                "_wrapped_call_impl": ("_PyEval_EvalFrameDefault", "_PyObject_Call_Prepend", "slot_tp_call")}
_PLAIN_CALL = ("_PyEval_EvalFrameDefault",)
_START = ("PyEval_EvalCode", "_PyRun_SimpleFileObject", "Py_RunMain", "__libc_start_main", "_start")

_T = "at::Tensor const&"
# Operator: (name in ATen, arguments, name of the Python function)
_OPERATORS = {
    "linear": ("addmm", f"{_T}, {_T}, {_T}, c10::Scalar const&, c10::Scalar const&", "linear"),
    "matmul": ("bmm", f"{_T}, {_T}", "matmul"),
    "softmax": ("_softmax", f"{_T}, long, bool", "softmax"),
    "dropout": ("native_dropout", f"{_T}, double, std::optional<bool>", "dropout"),
    "add": ("add_Tensor", f"{_T}, {_T}, c10::Scalar const&", "add"),
    "gelu": ("gelu", f"{_T}, std::basic_string_view<char>", "gelu"),
    "layer_norm": ("native_layer_norm", f"{_T}, c10::ArrayRef<c10::SymInt>, std::optional<at::Tensor> const&, "
                   "std::optional<at::Tensor> const&, double", "layer_norm"),
    "embedding": ("embedding", f"{_T}, {_T}, c10::SymInt, bool, bool", "embedding"),
    "log_softmax": ("_log_softmax", f"{_T}, long, bool", "log_softmax"),
    "nll_loss": ("nll_loss_forward", f"{_T}, {_T}, std::optional<at::Tensor> const&, long, c10::SymInt",
                 "cross_entropy"),
    "to": ("_to_copy", f"{_T}, std::optional<c10::ScalarType>, std::optional<c10::Layout>, "
           "std::optional<c10::Device>, std::optional<bool>, bool, std::optional<c10::MemoryFormat>", "to"),
    "zeros_like": ("zeros_like", f"{_T}, std::optional<c10::ScalarType>, std::optional<c10::Layout>, "
                   "std::optional<c10::Device>, std::optional<bool>, std::optional<c10::MemoryFormat>", "zeros_like"),
    "empty": ("empty_memory_format", "c10::ArrayRef<c10::SymInt>, std::optional<c10::ScalarType>, "
              "std::optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>, "
              "std::optional<c10::MemoryFormat>", "empty"),
    "foreach_sqrt": ("_foreach_sqrt", "c10::ArrayRef<at::Tensor>", "_foreach_sqrt"),
    "foreach_norm": ("_foreach_norm_Scalar", "c10::ArrayRef<at::Tensor>, c10::Scalar const&, "
                     "std::optional<c10::ScalarType>", "_foreach_norm"),
    "cat": ("cat", "c10::IListRef<at::Tensor> const&, long", "cat"),
    "clone": ("clone", f"{_T}, std::optional<c10::MemoryFormat>", "clone"),
}

# A module call in Python: what lies between two forward methods, innermost first.
CALL = ((TORCH + "nn/modules/module.py", "_call_impl", 1790),
        (TORCH + "nn/modules/module.py", "_wrapped_call_impl", 1779))
LINEAR = ((TORCH + "nn/modules/linear.py", "forward", 134),) + CALL
MAIN = ((PROJECT + "main.py", "main", 131), (PROJECT + "main.py", "<module>", 158))
STEP = ((PROJECT + "main.py", "train_step", 88),) + MAIN
NO_LINE = (1 << 64) - 1  # how Python's "no line" is written

VARIED_LINES = 64  # of each of the VARIED_FRAMES places that differ when every stack is to be different
VARIED_FRAMES = 4


def fresh(text):
    """An equal string that is an object of its own, as strings made in C++ are."""
    return (text + " ")[:-1]


class Stack:
    """The frames of one call path, innermost first."""

    __slots__ = ("frames", "pickled")

    def __init__(self, frames):
        self.frames = frames
        self.pickled = None  # for the streaming pickler


class Context:
    """One captured traceback: whoever holds it shares one list object."""

    __slots__ = ("number", "stack", "memo", "_list")

    def __init__(self, number, stack):
        self.number, self.stack = number, stack
        self.memo = self._list = None

    def frames(self):
        if self._list is None:
            self._list = list(self.stack.frames)
        return self._list


class StackTable:
    """Makes stacks of shared frames."""

    def __init__(self):
        self._frames = {}
        self._stacks = {}
        self._varied = None

    def frame(self, filename, name, line=0, variant=0):
        key = (filename, name, line, variant)
        found = self._frames.get(key)
        if found is None:
            found = self._frames[key] = {"name": fresh(name), "filename": fresh(filename), "line": line}
        return found

    def frame_with_fx(self, filename, name, line, op, node, target, trace):
        """A frame of generated code, as augment_with_fx_traces=True leaves it."""
        frame = self.frame(filename, name, line)
        frame.update(fx_node_op=op, fx_node_name=fresh(node), fx_node_target=fresh(target) if target else target,
                     fx_original_trace=fresh(trace))
        return frame

    def alloc(self, operator, python):
        """An allocation by an operator that Python calls."""
        return self._stack(("alloc", operator, python),
                           lambda: self._native(_MALLOC + _operator(operator)) + self._python(python))

    def free(self, python):
        """A tensor that Python lets go."""
        def build():
            dealloc = (("THPVariable_clear(THPVariable*)", "python_variable.cpp"), ("subtype_dealloc", "typeobject.c"))
            return self._native(_FREE + dealloc) + self._python(python)
        return self._stack(("free", python), build)

    def backward(self, node, operator):
        """An allocation by an autograd node, in the engine's own thread."""
        apply = ((f"torch::autograd::generated::{node}::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)",
                  "Functions.cpp"),)
        return self._stack(("backward", node, operator),
                           lambda: self._native(_MALLOC + _operator(operator)[:-1] + apply + _AUTOGRAD))

    def release(self, node):
        """What an autograd node frees when it has run."""
        release = (("torch::autograd::SavedVariable::reset_data()", "??"),
                   (f"torch::autograd::generated::{node}::release_variables()", "Functions.h"))
        return self._stack(("release", node), lambda: self._native(_FREE + release + _AUTOGRAD[1:]))

    def empty_cache(self, python):
        return self._stack(("empty_cache", python),
                           lambda: self._native(_EMPTY_CACHE) + self._python(python))

    def plain(self, python):
        """Python frames only, as stacks="python" records them."""
        return self._stack(("plain", python), lambda: [self.frame(*place) for place in python])

    def of_frames(self, key, frames):
        return self._stack(("frames", key), lambda: frames)

    def varied(self, stack, number):
        """The stack with its outermost places changed so that no two numbers give equal stacks."""
        if self._varied is None:
            self._varied = [[self.frame(f"{PROJECT}pipeline/stage_{place}.py", "run", 10 + line)
                             for line in range(VARIED_LINES)] for place in range(VARIED_FRAMES)]
        outer = []
        for lines in self._varied:
            number, digit = divmod(number, VARIED_LINES)
            outer.append(lines[digit])
        return Stack(stack.frames[:-VARIED_FRAMES] + outer)

    def _stack(self, key, build):
        found = self._stacks.get(key)
        if found is None:
            found = self._stacks[key] = Stack(build())
        return found

    def _native(self, frames):
        return [self.frame(filename, name) for name, filename in frames]

    def _python(self, places):
        frames = []
        for depth, (filename, name, line) in enumerate(places):
            frames.append(self.frame(filename, name, line))
            frames += [self.frame("??", symbol, 0, depth % 4) for symbol in _INTERPRETER.get(name, _PLAIN_CALL)]
        return frames + [self.frame("??", name) for name in _START]


def _operator(operator):
    """C++ frames from the kernel's wrapper out to the Python binding."""
    name, arguments, python = _OPERATORS[operator]
    shard = sum(name.encode()) % 5
    wrapper = "at::(anonymous namespace)::wrapper_CUDA_"
    variable = "torch::autograd::VariableType::(anonymous namespace)::"
    return (
        (f"at::native::{name}_cuda({arguments})", "??"),
        (f"{wrapper}{name}({arguments})", "RegisterCUDA_0.cpp"),
        (_unboxed(wrapper + name, arguments), "RegisterCUDA_0.cpp"),
        (f"at::_ops::{name}::redispatch(c10::DispatchKeySet, {arguments})", "??"),
        (f"{variable}{name}(c10::DispatchKeySet, {arguments})", f"VariableType_{shard}.cpp"),
        (_unboxed(variable + name, "c10::DispatchKeySet, " + arguments), f"VariableType_{shard}.cpp"),
        (f"at::_ops::{name}::call({arguments})", "??"),
        (f"torch::autograd::THPVariable_{python}(_object*, _object*, _object*)", "python_torch_functions_0.cpp"),
    )


def _unboxed(function, arguments):
    """The dispatcher's wrapper around a kernel, with a name as long as they are."""
    return (f"c10::impl::wrap_kernel_functor_unboxed_<c10::impl::detail::WrapFunctionIntoFunctor_<"
            f"c10::CompileTimeFunctionPointer<at::Tensor ({arguments}), &{function}>, at::Tensor, "
            f"c10::guts::typelist::typelist<{arguments}> >, at::Tensor ({arguments})>::call(c10::OperatorKernel*, "
            f"c10::DispatchKeySet, {arguments})")
