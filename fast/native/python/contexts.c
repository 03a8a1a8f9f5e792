/* Contexts and routines as Python objects that hold what `run` looks at (contexts.h).
 *
 * run(routine) is one call of cf_routine_run where a routine was accepted before: the value is then what run returns. The
 * Python method _run does every other call, and words every refusal.
 */
#include "contexts.h"

#include <structmember.h>

#include "counterfoil_native.h"

enum { MOST_BINDINGS = 16 }; /* of the calls done here */

static PyTypeObject *dispatchable_type; /* set once, when the module is made */
static PyObject *value_name;

/* ---- routines --------------------------------------------------------------------------------------------------- */

typedef struct dispatchable {
    PyObject_HEAD
    PyObject *tables;   /* keeps what c points to */
    PyObject *symbols;  /* tuple: those of the code in the order of its bindings, then the others that were given */
    PyObject *weakrefs;
    cf_routine *c;      /* NULL until the routine is complete */
} dispatchable;

static int dispatchable_traverse(PyObject *self, visitproc visit, void *arg) {
    dispatchable *d = (dispatchable *)self;
    Py_VISIT(d->tables);
    Py_VISIT(d->symbols);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int dispatchable_clear(PyObject *self) {
    dispatchable *d = (dispatchable *)self;
    d->c = NULL;
    Py_CLEAR(d->tables);
    Py_CLEAR(d->symbols);
    return 0;
}

static void dispatchable_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (((dispatchable *)self)->weakrefs != NULL) PyObject_ClearWeakRefs(self);
    dispatchable_clear(self);
    freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);
    give_back(self);
    Py_DECREF(type);
}

/* _dispatch(tables, symbols, address of the cf_routine): makes the routine complete, once. */
static PyObject *dispatchable_complete(PyObject *self, PyObject *args) {
    dispatchable *d = (dispatchable *)self;
    PyObject *tables, *symbols, *address;
    if (!PyArg_ParseTuple(args, "OO!O:_dispatch", &tables, &PyTuple_Type, &symbols, &address)) return NULL;
    void *c = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred()) return NULL;
    if (d->c != NULL) return PyErr_Format(PyExc_RuntimeError, "the routine is complete");
    Py_INCREF(tables), Py_INCREF(symbols);
    d->tables = tables, d->symbols = symbols, d->c = c;
    Py_RETURN_NONE;
}

static PyMemberDef dispatchable_members[] = {
    {"_tables", T_OBJECT_EX, offsetof(dispatchable, tables), READONLY, NULL},
    {"_symbols", T_OBJECT_EX, offsetof(dispatchable, symbols), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(dispatchable, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef dispatchable_methods[] = {
    {"_dispatch", dispatchable_complete, METH_VARARGS, "Makes the routine complete."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot dispatchable_slots[] = {
    {Py_tp_doc, "A routine's tables as a Python object."},
    {Py_tp_traverse, dispatchable_traverse},
    {Py_tp_clear, dispatchable_clear},
    {Py_tp_dealloc, dispatchable_dealloc},
    {Py_tp_members, dispatchable_members},
    {Py_tp_methods, dispatchable_methods},
    {0, NULL},
};

static PyType_Spec dispatchable_spec = {
    .name = "counterfoil._handles.Dispatchable",
    .basicsize = sizeof(dispatchable),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = dispatchable_slots,
};

/* ---- contexts --------------------------------------------------------------------------------------------------- */

typedef struct standing {
    PyObject_HEAD
    PyObject *root;     /* keeps c.ledger */
    PyObject *unit;     /* keeps c.unit and its parents */
    PyObject *weakrefs;
    cf_standing c;      /* c.unit is NULL until the value is complete */
} standing;

static int standing_traverse(PyObject *self, visitproc visit, void *arg) {
    standing *s = (standing *)self;
    Py_VISIT(s->root);
    Py_VISIT(s->unit);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int standing_clear(PyObject *self) {
    standing *s = (standing *)self;
    s->c.unit = NULL;
    s->c.ledger = NULL;
    Py_CLEAR(s->root);
    Py_CLEAR(s->unit);
    return 0;
}

static void standing_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (((standing *)self)->weakrefs != NULL) PyObject_ClearWeakRefs(self);
    standing_clear(self);
    freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);
    give_back(self);
    Py_DECREF(type);
}

/* _stand(root, unit, address of the cf_ledger, address of the cf_unit): makes the value complete, once. */
static PyObject *standing_complete(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    standing *s = (standing *)self;
    if (nargs != 4) return PyErr_Format(PyExc_TypeError, "_stand(root, unit, ledger, unit address)");
    void *ledger = PyLong_AsVoidPtr(args[2]), *unit = PyLong_AsVoidPtr(args[3]);
    if (PyErr_Occurred()) return NULL;
    if (s->c.unit != NULL) return PyErr_Format(PyExc_RuntimeError, "the context is complete");
    Py_INCREF(args[0]), Py_INCREF(args[1]);
    s->root = args[0], s->unit = args[1], s->c.ledger = ledger, s->c.unit = unit;
    Py_RETURN_NONE;
}

static PyObject *standing_address(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(&((standing *)self)->c);
}

/* _accept(serial): run of the routine with that serial returns the value itself. */
static PyObject *standing_accept(PyObject *self, PyObject *serial) {
    unsigned long long number = PyLong_AsUnsignedLongLong(serial);
    if (PyErr_Occurred()) return NULL;
    cf_standing_accept(&((standing *)self)->c, number);
    Py_RETURN_NONE;
}

/* The bindings' values where all are plain integers; false, without an exception, for anything else. */
static bool read_bindings(PyObject *symbols, int count, int64_t *bindings) {
    for (int k = 0; k < count; k++) {
        PyObject *value = PyObject_GetAttr(PyTuple_GetItem(symbols, k), value_name);
        int overflow = 1;
        if (value != NULL && PyLong_CheckExact(value)) bindings[k] = PyLong_AsLongLongAndOverflow(value, &overflow);
        Py_XDECREF(value);
        PyErr_Clear();
        if (overflow) return false;
    }
    return true;
}

/* The run with the ledger entered; the interpreter is given up while another thread has it, or the work is heavy. */
static int run_entered(const cf_standing *value, cf_routine *routine, const int64_t *bindings) {
    int64_t place;
    int answer;
    if (!routine->heavy && cf_ledger_try(routine->ledger)) {
        answer = cf_routine_run(value, routine, bindings, 0, &place);
        cf_ledger_leave(routine->ledger);
        return answer;
    }
    Py_BEGIN_ALLOW_THREADS
    cf_ledger_enter(routine->ledger);
    answer = cf_routine_run(value, routine, bindings, 0, &place);
    cf_ledger_leave(routine->ledger);
    Py_END_ALLOW_THREADS
    return answer;
}

/* Whether the call is done here: a routine of the value's own root that it accepted before. */
static bool is_plain(const standing *s, const dispatchable *d) {
    return d->c != NULL && s->c.ledger == d->c->ledger && cf_standing_accepts(&s->c, d->c->serial) &&
           d->c->binding_count <= MOST_BINDINGS;
}

static PyObject *standing_run(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    standing *s = (standing *)self;
    int64_t bindings[MOST_BINDINGS];
    if (nargs == 1 && kwnames == NULL && PyObject_TypeCheck(args[0], dispatchable_type)) {
        dispatchable *d = (dispatchable *)args[0];
        bool ready = is_plain(s, d) && read_bindings(d->symbols, d->c->binding_count, bindings);
        /* Reading the bindings may have run code that took either apart. */
        if (ready && is_plain(s, d) && run_entered(&s->c, d->c, bindings) == CF_RUN_FINE) {
            Py_INCREF(self);
            return self;
        }
    }
    PyObject *general = PyObject_GetAttrString(self, "_run");
    if (general == NULL) return NULL;
    PyObject *result = NULL, *positional = PyTuple_New(nargs), *named = NULL;
    Py_ssize_t names = kwnames == NULL ? 0 : PyTuple_Size(kwnames);
    if (names > 0) named = PyDict_New();
    bool fine = positional != NULL && (names == 0 || named != NULL);
    for (Py_ssize_t k = 0; fine && k < nargs; k++) {
        Py_INCREF(args[k]);
        fine = PyTuple_SetItem(positional, k, args[k]) == 0;
    }
    for (Py_ssize_t k = 0; fine && k < names; k++) {
        fine = PyDict_SetItem(named, PyTuple_GetItem(kwnames, k), args[nargs + k]) == 0;
    }
    if (fine) result = PyObject_Call(general, positional, named);
    Py_DECREF(general);
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return result;
}

static PyMemberDef standing_members[] = {
    {"_root", T_OBJECT_EX, offsetof(standing, root), READONLY, NULL},
    {"_unit", T_OBJECT_EX, offsetof(standing, unit), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(standing, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef standing_getset[] = {
    {"_standing", standing_address, NULL, "Where the core's structure lies.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef standing_methods[] = {
    {"_stand", (PyCFunction)(void (*)(void))standing_complete, METH_FASTCALL, "Makes the value complete."},
    {"_accept", standing_accept, METH_O, "Run of the routine with that serial returns the value itself."},
    {"run", (PyCFunction)(void (*)(void))standing_run, METH_FASTCALL | METH_KEYWORDS,
     "run($self, routine, timing=False)\n--\n\nExecute the routine; the value with its outputs marked initialized.\n\n"
     "Reads the bindings now. Refuses, first that applies: run/other-device, run/fragment-not-owned,\n"
     "release/dead-handle, release/dead-ancestor, run/compile-context-released, run/poisoned, run/unwritten-inputs,\n"
     "run/foreign-write, run/dependencies, run/launch-binding, gradients/without-reset (unless timing), run/merge-slab,\n"
     "and what the door refuses of the buffers bound."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot standing_slots[] = {
    {Py_tp_doc, "What run looks at of a context value, as a Python object."},
    {Py_tp_traverse, standing_traverse},
    {Py_tp_clear, standing_clear},
    {Py_tp_dealloc, standing_dealloc},
    {Py_tp_members, standing_members},
    {Py_tp_getset, standing_getset},
    {Py_tp_methods, standing_methods},
    {0, NULL},
};

static PyType_Spec standing_spec = {
    .name = "counterfoil._handles.Standing",
    .basicsize = sizeof(standing),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = standing_slots,
};

int cf_add_contexts(PyObject *module) {
    if (value_name == NULL) value_name = PyUnicode_InternFromString("value");
    if (value_name == NULL) return -1;
    if (dispatchable_type == NULL) {
        dispatchable_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &dispatchable_spec, NULL);
    }
    if (dispatchable_type == NULL || PyModule_AddObjectRef(module, "Dispatchable", (PyObject *)dispatchable_type) != 0) {
        return -1;
    }
    PyObject *type = PyType_FromModuleAndSpec(module, &standing_spec, NULL);
    int answer = type == NULL ? -1 : PyModule_AddObjectRef(module, "Standing", type);
    Py_XDECREF(type);
    return answer;
}
