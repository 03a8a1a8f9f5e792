/* counterfoil._handles: arrays as Python objects that hold the core's structure, and kernels that take them.
 *
 * A call through cffi costs more than a small kernel does. What runs millions of times is therefore called directly:
 * the pointwise kernels, and the views that moves and basic indexing make. Each function here either does the common
 * case or hands the call to the Python function that does every case and words every refusal.
 *
 * The module is found in the same file as counterfoil._native. It keeps to the stable ABI of Python 3.11.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>
#include <structmember.h>

#include "contexts.h"
#include "counterfoil_native.h"
#include "kernel.h"
#include "owner.h"

#define GIL_KEPT_BELOW 4096 /* elements: a kernel this small is over before another thread could use the interpreter */

/* ---- handles ---------------------------------------------------------------------------------------------------- */

typedef struct handle {
    PyObject_HEAD
    PyObject *buffer;  /* keeps what array.buffer points to */
    PyObject *dtype;
    PyObject *cdata;   /* the structure as cffi sees it, made when first asked for */
    PyObject *weakrefs;
    cf_array array;    /* array.buffer is NULL until the handle is complete */
} handle;

static int handle_traverse(PyObject *self, visitproc visit, void *arg) {
    handle *h = (handle *)self;
    Py_VISIT(h->buffer);
    Py_VISIT(h->dtype);
    Py_VISIT(h->cdata);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int handle_clear(PyObject *self) {
    handle *h = (handle *)self;
    h->array.buffer = NULL;
    Py_CLEAR(h->buffer);
    Py_CLEAR(h->dtype);
    Py_CLEAR(h->cdata);
    return 0;
}

static void handle_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (((handle *)self)->weakrefs != NULL) PyObject_ClearWeakRefs(self);
    handle_clear(self);
    freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);
    give_back(self);
    Py_DECREF(type);
}

static bool complete(const handle *h) { return h->array.buffer != NULL && h->buffer != NULL && h->dtype != NULL; }

/* A handle of the same type over the same buffer, its array still to be written; NULL with an exception set. */
static handle *handle_like(handle *from) {
    if (!complete(from)) { /* code that ran meanwhile may have taken it apart */
        PyErr_SetString(PyExc_AttributeError, "the array has no buffer");
        return NULL;
    }
    handle *h = (handle *)PyType_GenericAlloc(Py_TYPE((PyObject *)from), 0);
    if (h == NULL) return NULL;
    Py_INCREF(from->buffer);
    Py_INCREF(from->dtype);
    h->buffer = from->buffer;
    h->dtype = from->dtype;
    return h;
}

static PyObject *handle_address(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(&((handle *)self)->array);
}

/* The structure as cffi's pointer: what the Python method _cast answers, kept. */
static PyObject *handle_cdata(PyObject *self, void *unused) {
    (void)unused;
    handle *h = (handle *)self;
    if (h->cdata == NULL) {
        PyObject *made = PyObject_CallMethod(self, "_cast", NULL);
        if (made == NULL) return NULL;
        Py_XDECREF(h->cdata); /* of another thread that came first */
        h->cdata = made;
    }
    Py_INCREF(h->cdata);
    return h->cdata;
}

static PyObject *handle_shape(PyObject *self, void *unused) {
    (void)unused;
    const cf_layout *layout = &((handle *)self)->array.layout;
    PyObject *shape = PyTuple_New(layout->rank);
    for (int axis = 0; shape != NULL && axis < layout->rank; axis++) {
        PyObject *extent = PyLong_FromLongLong(layout->shape[axis]);
        if (extent == NULL || PyTuple_SetItem(shape, axis, extent) != 0) Py_CLEAR(shape);
    }
    return shape;
}

/* ---- views ------------------------------------------------------------------------------------------------------ */

/* The name under which a move keeps its encoding. Set once, when the module is made. */
static PyObject *encoding_name;

/* A new handle of `h` moved; NULL without an exception where there is none, *answer saying why. */
static PyObject *viewed(handle *h, int kind, int64_t count, const int64_t *params, int *answer) {
    handle *view = handle_like(h);
    if (view == NULL) return NULL;
    *answer = cf_array_view(&view->array, &h->array, kind, (int)count, params);
    if (*answer == CF_MOVED) return (PyObject *)view;
    view->array.buffer = NULL;
    Py_DECREF(view);
    return NULL;
}

/* Whether bytes are a move's encoding: kind, count, then count times the parameters of the kind, all int64. */
static bool is_encoding(PyObject *bytes) {
    static const int64_t width[] = {
        [CF_RESHAPE] = 1, [CF_BROADCAST] = 1, [CF_PERMUTE] = 1, [CF_SLICE] = 3, [CF_WINDOW] = 4};
    if (!PyBytes_CheckExact(bytes)) return false;
    int64_t words = PyBytes_Size(bytes) / (int64_t)sizeof(int64_t);
    if (words < 2) return false;
    const int64_t *encoding = (const int64_t *)(const void *)PyBytes_AsString(bytes);
    if (encoding[0] < CF_RESHAPE || encoding[0] > CF_WINDOW) return false;
    return (words - 2) % width[encoding[0]] == 0 && (words - 2) / width[encoding[0]] == encoding[1];
}

/* _view(encoding): the array moved, None where no layout expresses it, NotImplemented where it is refused. */
static PyObject *handle_view(PyObject *self, PyObject *encoding) {
    handle *h = (handle *)self;
    if (!complete(h) || !is_encoding(encoding)) return PyErr_Format(PyExc_TypeError, "_view takes a move's encoding");
    const int64_t *words = (const int64_t *)(const void *)PyBytes_AsString(encoding);
    int answer = CF_REFUSED;
    PyObject *view = viewed(h, (int)words[0], words[1], words + 2, &answer);
    if (view != NULL || PyErr_Occurred()) return view;
    if (answer == CF_NO_LAYOUT) Py_RETURN_NONE;
    Py_RETURN_NOTIMPLEMENTED;
}

/* Clears an Exception, which Python words anew; false for any other (KeyboardInterrupt), which stays set. */
static bool forgiven(void) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return false;
    PyErr_Clear();
    return true;
}

/* move(move): the array moved, None where no layout expresses it. The Python method _moved encodes a move that was not
 * yet, and says why one is refused. */
static PyObject *handle_move(PyObject *self, PyObject *move) {
    PyObject *encoding = PyObject_GetAttr(move, encoding_name);
    if (encoding != NULL && is_encoding(encoding) && complete((handle *)self)) {
        PyObject *view = handle_view(self, encoding);
        Py_DECREF(encoding);
        if (view != Py_NotImplemented) return view;
        Py_DECREF(view);
    } else {
        Py_XDECREF(encoding);
        if (!forgiven()) return NULL;
    }
    return PyObject_CallMethod(self, "_moved", "(O)", move);
}

/* What a key asks for: a range per axis, and the extents that are left (an integer drops its axis). */
typedef struct selection {
    int64_t ranges[3 * CF_MAX_RANK];
    int64_t extents[CF_MAX_RANK];
    int axes, left;
} selection;

/* The next axis at an integer or a slice; false for anything else, for what is outside, and with an exception set for
 * what raised one. */
static bool select_axis(selection *s, PyObject *entry, int64_t extent) {
    int64_t *range = s->ranges + 3 * s->axes++;
    if (PyLong_CheckExact(entry)) {
        int overflow;
        long long index = PyLong_AsLongLongAndOverflow(entry, &overflow);
        if (overflow || index < 0 || index >= extent) return false;
        range[0] = index, range[1] = 1, range[2] = 1;
        return true;
    }
    Py_ssize_t start, stop, step;
    if (!PySlice_Check(entry)) return false;
    if (PySlice_Unpack(entry, &start, &stop, &step) != 0) return false;
    int64_t count = PySlice_AdjustIndices((Py_ssize_t)extent, &start, &stop, step);
    range[0] = count > 0 ? start : 0, range[1] = count, range[2] = count > 1 ? step : 1;
    s->extents[s->left++] = count;
    return true;
}

/* All axes: those the key names, the rest whole. */
static bool select_all(selection *s, PyObject *key, const cf_layout *layout) {
    Py_ssize_t named = PyTuple_Check(key) ? PyTuple_Size(key) : 1;
    if (named > layout->rank) return false;
    for (Py_ssize_t k = 0; k < named; k++) {
        if (!select_axis(s, PyTuple_Check(key) ? PyTuple_GetItem(key, k) : key, layout->shape[k])) return false;
    }
    for (int axis = (int)named; axis < layout->rank; axis++) {
        int64_t *range = s->ranges + 3 * s->axes++;
        range[0] = 0, range[1] = layout->shape[axis], range[2] = 1;
        s->extents[s->left++] = layout->shape[axis];
    }
    return true;
}

/* self[key] of integers and slices; the Python method _indexed does every other key, and says what is wrong. */
static PyObject *handle_subscript(PyObject *self, PyObject *key) {
    handle *h = (handle *)self;
    selection s;
    s.axes = s.left = 0;
    if (!complete(h) || !select_all(&s, key, &h->array.layout)) {
        return forgiven() ? PyObject_CallMethod(self, "_indexed", "(O)", key) : NULL;
    }
    int answer = CF_REFUSED;
    PyObject *view = viewed(h, CF_SLICE, s.axes, s.ranges, &answer);
    if (view != NULL && s.left != s.axes) {
        PyObject *sliced = view;
        view = viewed((handle *)sliced, CF_RESHAPE, s.left, s.extents, &answer);
        Py_DECREF(sliced);
    }
    if (view != NULL || PyErr_Occurred()) return view;
    return PyObject_CallMethod(self, "_indexed", "(O)", key);
}

/* ---- elements --------------------------------------------------------------------------------------------------- */

/* An index of as many exact integers as there are axes; false for any other, which Python judges. */
static bool read_index(PyObject *index, const cf_layout *layout, int64_t *entries) {
    bool tuple = PyTuple_CheckExact(index);
    if (!tuple && !PyList_CheckExact(index)) return false;
    if ((tuple ? PyTuple_Size(index) : PyList_Size(index)) != layout->rank) return false;
    for (int axis = 0; axis < layout->rank; axis++) {
        PyObject *entry = tuple ? PyTuple_GetItem(index, axis) : PyList_GetItem(index, axis);
        int overflow;
        if (!PyLong_CheckExact(entry)) return false;
        entries[axis] = PyLong_AsLongLongAndOverflow(entry, &overflow);
        if (overflow) return false;
    }
    return true;
}

static bool is_signed(int dtype) {
    return dtype == CF_INT64 || dtype == CF_INT32 || dtype == CF_INT16 || dtype == CF_INT8 || dtype == CF_INT4;
}

static PyObject *value_of(int dtype, const uint64_t bits[2]) {
    int width = cf_dtype_bits(dtype);
    switch (dtype) {
    case CF_BOOL:
    case CF_BIT: return PyBool_FromLong(bits[0] != 0);
    case CF_UINT64:
    case CF_UINT32:
    case CF_UINT16:
    case CF_UINT8:
    case CF_UINT4: return PyLong_FromUnsignedLongLong(bits[0]);
    case CF_INT64:
    case CF_INT32:
    case CF_INT16:
    case CF_INT8:
    case CF_INT4: return PyLong_FromLongLong((int64_t)(bits[0] << (64 - width)) >> (64 - width));
    case CF_COMPLEX128: {
        uint64_t imaginary[2] = {bits[1], 0};
        return PyComplex_FromDoubles(cf_to_double(CF_FLOAT64, bits), cf_to_double(CF_FLOAT64, imaginary));
    }
    case CF_COMPLEX64: {
        uint64_t real[2] = {bits[0] & UINT32_MAX, 0}, imaginary[2] = {bits[0] >> 32, 0};
        return PyComplex_FromDoubles(cf_to_double(CF_FLOAT32, real), cf_to_double(CF_FLOAT32, imaginary));
    }
    default: return PyFloat_FromDouble(cf_to_double(dtype, bits));
    }
}

/* The bits of a float at a float dtype, of a bool at a boolean one, and of an int of at most 63 bits in range at an
 * integer one; false for anything else, which Python converts or refuses. */
static bool bits_of(int dtype, PyObject *value, uint64_t bits[2]) {
    int width = cf_dtype_bits(dtype), overflow;
    bits[0] = bits[1] = 0;
    if (dtype <= CF_FLOAT4_E2M1FN) {
        if (!PyFloat_CheckExact(value)) return false;
        cf_of_double(dtype, PyFloat_AsDouble(value), bits);
        return true;
    }
    if (dtype == CF_BOOL || dtype == CF_BIT) {
        bits[0] = value == Py_True;
        return PyBool_Check(value);
    }
    if (dtype >= CF_COMPLEX128 || !PyLong_CheckExact(value)) return false;
    int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    /* What is left above the value bits: 0, or -1 for a negative number of a signed dtype. */
    int64_t above = width == 64 ? 0 : number >> (is_signed(dtype) ? width - 1 : width);
    if (overflow || above > 0 || above < -1 || (!is_signed(dtype) && number < 0)) return false;
    bits[0] = (uint64_t)number & (UINT64_MAX >> (64 - width));
    return true;
}

/* _contiguous(dtype code, shape, address of a cf_buffer): writes the structure of a fresh C-contiguous array, whose
 * shape and bytes the caller has checked; the buffer may be dead. */
static PyObject *handle_contiguous(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    int64_t shape[CF_MAX_RANK];
    if (nargs != 3 || !PyTuple_CheckExact(args[1]) || PyTuple_Size(args[1]) > CF_MAX_RANK) {
        return PyErr_Format(PyExc_TypeError, "_contiguous(code, shape, address)");
    }
    int rank = (int)PyTuple_Size(args[1]);
    for (int axis = 0; axis < rank; axis++) shape[axis] = PyLong_AsLongLong(PyTuple_GetItem(args[1], axis));
    long dtype = PyLong_AsLong(args[0]);
    cf_buffer *buffer = PyLong_AsVoidPtr(args[2]);
    if (PyErr_Occurred()) return NULL;
    cf_array plain = {.dtype = (int)dtype};
    int rule = cf_layout_contiguous(&plain.layout, rank, shape, NULL);
    if (rule != 0) return PyErr_Format(PyExc_AssertionError, "a fresh array breaks rule %d", rule);
    cf_array_rebuffer(&((handle *)self)->array, &plain, buffer);
    Py_RETURN_NONE;
}

/* get(index): the element, where it is there to be read; the Python method _get does every other call. */
static PyObject *handle_get(PyObject *self, PyObject *index) {
    handle *h = (handle *)self;
    int64_t entries[CF_MAX_RANK];
    uint64_t bits[2] = {0, 0};
    bool plain = complete(h) && cf_memory_pending_writes(h->array.buffer->memory) == 0;
    if (plain && read_index(index, &h->array.layout, entries) && cf_array_get(&h->array, entries, bits) == CF_DONE) {
        return value_of(h->array.dtype, bits);
    }
    return PyObject_CallMethod(self, "_get", "(O)", index);
}

/* set(index, value): a store of a value of the dtype's own class; the Python method _set does every other call. */
static PyObject *handle_set(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    handle *h = (handle *)self;
    int64_t entries[CF_MAX_RANK];
    uint64_t bits[2];
    if (nargs != 2) return PyErr_Format(PyExc_TypeError, "set takes an index and a value");
    bool plain = complete(h) && cf_memory_pending_uses(h->array.buffer->memory) == 0;
    if (plain && read_index(args[0], &h->array.layout, entries) && bits_of(h->array.dtype, args[1], bits) &&
        cf_array_set(&h->array, entries, bits) == CF_DONE) {
        Py_RETURN_NONE;
    }
    return PyObject_CallMethod(self, "_set", "(OO)", args[0], args[1]);
}

/* ---- the type --------------------------------------------------------------------------------------------------- */

static PyMemberDef handle_members[] = {
    {"_buffer", T_OBJECT_EX, offsetof(handle, buffer), 0, NULL},
    {"_dtype", T_OBJECT_EX, offsetof(handle, dtype), 0, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(handle, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef handle_getset[] = {
    {"_address", handle_address, NULL, "Where the core's structure lies.", NULL},
    {"_c", handle_cdata, NULL, "The core's structure.", NULL},
    {"shape", handle_shape, NULL, "The extents.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef handle_methods[] = {
    {"_view", handle_view, METH_O, "The array moved as an encoding says; None, or NotImplemented where it is refused."},
    {"move", handle_move, METH_O,
     "The array seen through a move; None for a reshape that no strides express. Refuses as ``move_shape``."},
    {"_contiguous", (PyCFunction)(void (*)(void))handle_contiguous, METH_FASTCALL, "Writes a fresh array's structure."},
    {"get", handle_get, METH_O,
     "The element at an index.\n\n"
     "Refuses arrays/index-rank, arrays/index-range, memory/dead, memory/exclusive, memory/off-host, memory/lost."},
    {"set", (PyCFunction)(void (*)(void))handle_set, METH_FASTCALL,
     "Store a value at an index; stores to a sub-byte element's neighbours, from any thread, are kept.\n\n"
     "Refuses what get does, and dtypes/value-type, dtypes/value-range, memory/read-only, arrays/repeated."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot handle_slots[] = {
    {Py_tp_doc, "An array of the core as a Python object."},
    {Py_tp_traverse, handle_traverse},
    {Py_tp_clear, handle_clear},
    {Py_tp_dealloc, handle_dealloc},
    {Py_tp_members, handle_members},
    {Py_tp_getset, handle_getset},
    {Py_tp_methods, handle_methods},
    {Py_mp_subscript, handle_subscript},
    {0, NULL},
};

static PyType_Spec handle_spec = {
    .name = "counterfoil._handles.Handle",
    .basicsize = sizeof(handle),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = handle_slots,
};

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

typedef int (*unary)(const cf_array *, const cf_array *);
typedef int (*binary)(const cf_array *, const cf_array *, const cf_array *);
typedef int (*ternary)(const cf_array *, const cf_array *, const cf_array *, const cf_array *);

/* What a kernel function is bound to. */
typedef struct bound {
    PyObject_HEAD
    PyTypeObject *arrays; /* the class of its operands */
    PyObject *answers;    /* tuple of the answers by code */
    PyObject *general;    /* does every call that is not the common case */
    PyObject *lost;       /* words the loss of work that a call waited for */
    PyObject *elsewhere;  /* does the calls whose operands lie off the host */
    void *kernel;
    int operands;         /* 2 to 4 */
    PyMethodDef method;   /* the function's name and text */
} bound;

static void bound_dealloc(PyObject *self) {
    bound *b = (bound *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_CLEAR(b->arrays);
    Py_CLEAR(b->answers);
    Py_CLEAR(b->general);
    Py_CLEAR(b->lost);
    Py_CLEAR(b->elsewhere);
    freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);
    give_back(self);
    Py_DECREF(type);
}

static PyType_Slot bound_slots[] = {{Py_tp_dealloc, bound_dealloc}, {0, NULL}};

static PyType_Spec bound_spec = {
    .name = "counterfoil._handles.Bound",
    .basicsize = sizeof(bound),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = bound_slots,
};

static int run(const bound *b, const cf_array *const *a) {
    switch (b->operands) {
    case 2: return ((unary)b->kernel)(a[0], a[1]);
    case 3: return ((binary)b->kernel)(a[0], a[1], a[2]);
    default: return ((ternary)b->kernel)(a[0], a[1], a[2], a[3]);
    }
}

/* Whether the call may take long or wait for work, so that other threads should have the interpreter meanwhile. */
static bool may_take_long(const bound *b, const cf_array *const *a) {
    for (int k = 0; k < b->operands; k++) {
        if (a[k]->layout.size >= GIL_KEPT_BELOW || cf_memory_pending_uses(a[k]->buffer->memory) != 0) return true;
    }
    return false;
}

static PyObject *call_with(PyObject *callable, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    PyObject *positional = PyTuple_New(nargs), *named = NULL, *result = NULL;
    if (positional == NULL) return NULL;
    for (Py_ssize_t k = 0; k < nargs; k++) {
        Py_INCREF(args[k]);
        PyTuple_SetItem(positional, k, args[k]);
    }
    Py_ssize_t names = kwnames == NULL ? 0 : PyTuple_Size(kwnames);
    if (names > 0) named = PyDict_New();
    bool fine = names == 0 || named != NULL;
    for (Py_ssize_t k = 0; fine && k < names; k++) {
        fine = PyDict_SetItem(named, PyTuple_GetItem(kwnames, k), args[nargs + k]) == 0;
    }
    if (fine) result = PyObject_Call(callable, positional, named);
    Py_DECREF(positional);
    Py_XDECREF(named);
    return result;
}

static PyObject *kernel_call(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    const bound *b = (const bound *)self;
    const cf_array *operands[4];
    if (nargs != b->operands || kwnames != NULL) return call_with(b->general, args, nargs, kwnames);
    for (int k = 0; k < b->operands; k++) {
        if (!Py_IS_TYPE(args[k], b->arrays)) return call_with(b->general, args, nargs, NULL);
        operands[k] = &((handle *)args[k])->array;
        if (operands[k]->buffer == NULL) return call_with(b->general, args, nargs, NULL);
    }
    int answer;
    if (may_take_long(b, operands)) {
        Py_BEGIN_ALLOW_THREADS
        answer = run(b, operands);
        Py_END_ALLOW_THREADS
    } else {
        answer = run(b, operands);
    }
    if (answer == CF_LOST) return call_with(b->lost, args, nargs, NULL);
    if (answer == CF_OFF_HOST) return call_with(b->elsewhere, args, nargs, NULL);
    PyObject *result = PyTuple_GetItem(b->answers, answer);
    Py_XINCREF(result);
    return result;
}

#define UNARY_KERNEL(name) {#name, (void *)cf_##name, 2},
#define BINARY_KERNEL(name) {#name, (void *)cf_##name, 3},
#define TERNARY_KERNEL(name) {#name, (void *)cf_##name, 4},

/* The kernels whose operands are arrays and nothing else. */
static const struct entry {
    const char *name;
    void *kernel;
    int operands;
} entries[] = {
    UNARY_KERNEL(copy) UNARY_KERNEL(cast) UNARY_KERNEL(neg) UNARY_KERNEL(recip) UNARY_KERNEL(abs) UNARY_KERNEL(sign)
    UNARY_KERNEL(sqrt) UNARY_KERNEL(floor) UNARY_KERNEL(ceil) UNARY_KERNEL(round) UNARY_KERNEL(trunc) UNARY_KERNEL(exp)
    UNARY_KERNEL(exp2) UNARY_KERNEL(log) UNARY_KERNEL(log2) UNARY_KERNEL(log1p) UNARY_KERNEL(expm1) UNARY_KERNEL(sin)
    UNARY_KERNEL(cos) UNARY_KERNEL(tan) UNARY_KERNEL(asin) UNARY_KERNEL(acos) UNARY_KERNEL(atan) UNARY_KERNEL(sinh)
    UNARY_KERNEL(cosh) UNARY_KERNEL(tanh) UNARY_KERNEL(erf)
    BINARY_KERNEL(add) BINARY_KERNEL(sub) BINARY_KERNEL(mul) BINARY_KERNEL(fdiv) BINARY_KERNEL(idiv) BINARY_KERNEL(mod)
    BINARY_KERNEL(pow) BINARY_KERNEL(atan2) BINARY_KERNEL(maximum) BINARY_KERNEL(minimum) BINARY_KERNEL(bitwise_and)
    BINARY_KERNEL(bitwise_or) BINARY_KERNEL(bitwise_xor) BINARY_KERNEL(equal) BINARY_KERNEL(not_equal)
    BINARY_KERNEL(less) BINARY_KERNEL(less_equal) BINARY_KERNEL(matmul)
    TERNARY_KERNEL(where) TERNARY_KERNEL(fma)
};

#define KERNEL_TEXT "A kernel of the table (K1): takes the destination, then the sources; answers an Answer."

enum { ENTRIES = sizeof(entries) / sizeof(entries[0]) };

/* kernel(name, arrays, answers, general, lost, elsewhere): the function of a kernel, or None where it has no common case. */
static PyObject *make_kernel(PyObject *module, PyObject *args) {
    const char *name;
    PyObject *arrays, *answers, *general, *lost, *elsewhere;
    if (!PyArg_ParseTuple(args, "sOOOOO:kernel", &name, &arrays, &answers, &general, &lost, &elsewhere)) return NULL;
    const struct entry *found = NULL;
    for (int k = 0; k < ENTRIES; k++) {
        if (strcmp(entries[k].name, name) == 0) found = &entries[k];
    }
    if (found == NULL) Py_RETURN_NONE;
    PyObject *type = PyObject_GetAttrString(module, "_Bound");
    if (type == NULL) return NULL;
    bound *b = (bound *)PyType_GenericAlloc((PyTypeObject *)type, 0);
    Py_DECREF(type);
    if (b == NULL) return NULL;
    Py_INCREF(arrays), Py_INCREF(answers), Py_INCREF(general), Py_INCREF(lost), Py_INCREF(elsewhere);
    b->arrays = (PyTypeObject *)arrays, b->answers = answers, b->general = general, b->lost = lost;
    b->elsewhere = elsewhere;
    b->kernel = found->kernel, b->operands = found->operands;
    PyCFunction call = (PyCFunction)(void (*)(void))kernel_call;
    b->method = (PyMethodDef){found->name, call, METH_FASTCALL | METH_KEYWORDS, KERNEL_TEXT};
    PyObject *function = PyCFunction_NewEx(&b->method, (PyObject *)b, NULL);
    Py_DECREF(b);
    return function;
}

/* ---- the module ------------------------------------------------------------------------------------------------- */

static PyMethodDef module_methods[] = {
    {"kernel", make_kernel, METH_VARARGS, "The function of a kernel, or None."},
    {NULL, NULL, 0, NULL},
};

static int add_type(PyObject *module, const char *name, PyType_Spec *spec) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    int answer = type == NULL ? -1 : PyModule_AddObjectRef(module, name, type);
    Py_XDECREF(type);
    return answer;
}

static int module_exec(PyObject *module) {
    if (encoding_name == NULL) encoding_name = PyUnicode_InternFromString("_encoding");
    if (encoding_name == NULL) return -1;
    if (add_type(module, "Handle", &handle_spec) != 0 || add_type(module, "_Bound", &bound_spec) != 0) return -1;
    return cf_add_owners(module) != 0 ? -1 : cf_add_contexts(module);
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "counterfoil._handles",
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__handles(void) { return PyModuleDef_Init(&module_definition); }
