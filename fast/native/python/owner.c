/* Owners of the core's records (owner.h).
 *
 * When the garbage collector finds a cycle it calls all its finalizers first, and any of them may still use, or bring
 * back, whatever the cycle reaches. So nothing here is given up by a finalizer: an owner destroys its record when it is
 * deallocated, when nobody can have a reference left. Views of a memory hold its owner, through the buffer protocol.
 *
 * All functions are called with the interpreter held, which guards the counts.
 */
#include "owner.h"

#include <string.h>
#include <structmember.h>

#include "counterfoil_native.h"

typedef struct owner {
    PyObject_HEAD
    struct owner *maker;  /* of a memory: its device's owner; NULL for a device */
    PyObject *keep;       /* of adopted memory: what holds its bytes */
    cf_device *device;    /* a device's record, NULL for a memory */
    cf_memory *memory;    /* a memory's record, NULL for a device */
    long long live;       /* of a device: bytes of its live memories; of a memory: what it counts there */
    Py_ssize_t views;     /* of a memory: views of its bytes */
    int poison;           /* of freed memory: the byte it is to be filled with once nobody sees it; -1: none */
    int opaque;           /* of a memory: its base is no address of the host's; it has no views and is filled by others */
} owner;

static PyTypeObject *owner_type; /* set once, when the module is made */

static int owner_traverse(PyObject *self, visitproc visit, void *arg) {
    owner *o = (owner *)self;
    Py_VISIT((PyObject *)o->maker);
    Py_VISIT(o->keep);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static void forget(owner *o) {
    if (o->maker != NULL) o->maker->live -= o->live;
    o->live = 0;
}

static void owner_dealloc(PyObject *self) {
    owner *o = (owner *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (o->memory != NULL) forget(o);
    cf_memory_destroy(o->memory);
    cf_device_destroy(o->device);
    Py_CLEAR(o->keep); /* after the record: what held the bytes may run code when it goes */
    Py_CLEAR(o->maker);
    freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);
    give_back(self);
    Py_DECREF(type);
}

/* ---- views of the bytes ----------------------------------------------------------------------------------------- */

/* Fills freed memory once no view and no pending work can see it. */
static void settle(owner *o) {
    if (o->poison < 0 || o->opaque || o->views > 0 || cf_memory_pending_uses(o->memory) != 0) return;
    if (o->memory->nbytes > 0) memset(o->memory->base, o->poison, (size_t)o->memory->nbytes);
    o->poison = -1;
}

static int owner_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    static uint8_t nowhere[1];
    owner *o = (owner *)self;
    if (o->memory == NULL) {
        PyErr_SetString(PyExc_BufferError, "a device has no bytes");
        return -1;
    }
    if (o->opaque) {
        PyErr_SetString(PyExc_BufferError, "the host does not address these bytes");
        return -1;
    }
    void *base = o->memory->base == NULL ? nowhere : o->memory->base;
    if (PyBuffer_FillInfo(view, self, base, (Py_ssize_t)o->memory->nbytes, 0, flags) != 0) return -1;
    o->views++;
    return 0;
}

static void owner_releasebuffer(PyObject *self, Py_buffer *view) {
    (void)view;
    owner *o = (owner *)self;
    if (--o->views == 0) settle(o);
}

/* ---- methods ---------------------------------------------------------------------------------------------------- */

static PyObject *owner_address(PyObject *self, void *unused) {
    (void)unused;
    owner *o = (owner *)self;
    return PyLong_FromVoidPtr(o->memory != NULL ? (void *)o->memory : (void *)o->device);
}

/* forget(): the memory's bytes count as live on its device no longer. */
static PyObject *owner_forget(PyObject *self, PyObject *unused) {
    (void)unused;
    if (((owner *)self)->memory != NULL) forget((owner *)self);
    Py_RETURN_NONE;
}

/* poison(byte): fills the memory with the byte, once no view and no pending work can see it. */
static PyObject *owner_poison(PyObject *self, PyObject *byte) {
    owner *o = (owner *)self;
    long value = PyLong_AsLong(byte);
    if (value == -1 && PyErr_Occurred()) return NULL;
    if (o->memory == NULL) return PyErr_Format(PyExc_TypeError, "a device has no bytes");
    o->poison = (int)(value & 255);
    settle(o);
    Py_RETURN_NONE;
}

/* settle(): called when pending work of the memory was performed or dropped. */
static PyObject *owner_settle(PyObject *self, PyObject *unused) {
    (void)unused;
    if (((owner *)self)->memory != NULL) settle((owner *)self);
    Py_RETURN_NONE;
}

static PyMemberDef owner_members[] = {
    {"keep", T_OBJECT, offsetof(owner, keep), READONLY, "What holds adopted bytes; None for memory of our own."},
    {"live", T_LONGLONG, offsetof(owner, live), READONLY, "Bytes of a device's live memories."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef owner_getset[] = {
    {"address", owner_address, NULL, "Where the record lies.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef owner_methods[] = {
    {"forget", owner_forget, METH_NOARGS, "The memory's bytes count as live no longer."},
    {"poison", owner_poison, METH_O, "Fill freed memory with a byte once nobody can see it."},
    {"settle", owner_settle, METH_NOARGS, "Look again whether somebody can see freed memory."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot owner_slots[] = {
    {Py_tp_doc, "Holds a record of the core, and destroys it last."},
    {Py_tp_traverse, owner_traverse}, /* no tp_clear: the record stays until nobody refers to the owner */
    {Py_tp_dealloc, owner_dealloc},
    {Py_bf_getbuffer, owner_getbuffer},
    {Py_bf_releasebuffer, owner_releasebuffer},
    {Py_tp_members, owner_members},
    {Py_tp_getset, owner_getset},
    {Py_tp_methods, owner_methods},
    {0, NULL},
};

static PyType_Spec owner_spec = {
    .name = "counterfoil._handles.Owner",
    .basicsize = sizeof(owner),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = owner_slots,
};

/* ---- making owners ---------------------------------------------------------------------------------------------- */

/* The owner of a device record, or of a memory record that `maker`'s device made; destroys the record on failure. */
static PyObject *owner_of(cf_device *device, cf_memory *memory, owner *maker, PyObject *keep, long long counted) {
    owner *o = (owner *)PyType_GenericAlloc(owner_type, 0);
    if (o == NULL) {
        cf_memory_destroy(memory);
        cf_device_destroy(device);
        return NULL;
    }
    Py_XINCREF((PyObject *)maker);
    Py_XINCREF(keep);
    o->maker = maker, o->keep = keep, o->device = device, o->memory = memory, o->live = counted, o->poison = -1;
    if (maker != NULL) maker->live += counted;
    return (PyObject *)o;
}

static bool is_device(PyObject *maker) {
    if (Py_IS_TYPE(maker, owner_type) && ((owner *)maker)->device != NULL) return true;
    PyErr_SetString(PyExc_TypeError, "the owner of a device is needed");
    return false;
}

/* device(wait): the owner of a new device record; `wait` is the address of its cf_wait_function. */
static PyObject *make_device(PyObject *module, PyObject *wait) {
    (void)module;
    void *address = PyLong_AsVoidPtr(wait);
    if (PyErr_Occurred()) return NULL;
    cf_device *device = cf_device_create((cf_wait_function)address);
    return device == NULL ? PyErr_NoMemory() : owner_of(device, NULL, NULL, NULL, 0);
}

/* memory(device, nbytes): the owner of fresh memory, which counts as live; None where there is none. */
static PyObject *make_memory(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *maker;
    long long nbytes;
    if (!PyArg_ParseTuple(args, "OL:memory", &maker, &nbytes) || !is_device(maker)) return NULL;
    cf_memory *memory = cf_memory_create(nbytes, ((owner *)maker)->device, NULL, 0);
    if (memory == NULL) Py_RETURN_NONE;
    return owner_of(NULL, memory, (owner *)maker, NULL, nbytes);
}

/* adopted(device, address, nbytes, flags, keep, counted=False, opaque=False): the owner of memory over foreign bytes that
 * `keep` holds. counted: they are live bytes of the device. opaque: the address is none of the host's. */
static PyObject *make_adopted(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *maker, *base, *keep;
    long long nbytes;
    unsigned int flags;
    int counted = 0, opaque = 0;
    if (!PyArg_ParseTuple(args, "OOLIO|pp:adopted", &maker, &base, &nbytes, &flags, &keep, &counted, &opaque)) return NULL;
    if (!is_device(maker)) return NULL;
    void *address = PyLong_AsVoidPtr(base);
    if (PyErr_Occurred()) return NULL;
    cf_memory *memory = cf_memory_adopt(address, nbytes, ((owner *)maker)->device, NULL, flags);
    if (memory == NULL) return PyErr_NoMemory();
    PyObject *made = owner_of(NULL, memory, (owner *)maker, keep, counted ? nbytes : 0);
    if (made != NULL) ((owner *)made)->opaque = opaque;
    return made;
}

static PyMethodDef functions[] = {
    {"device", make_device, METH_O, "The owner of a new device record."},
    {"memory", make_memory, METH_VARARGS, "The owner of fresh memory of a device, or None."},
    {"adopted", make_adopted, METH_VARARGS, "The owner of memory over foreign bytes."},
    {NULL, NULL, 0, NULL},
};

int cf_add_owners(PyObject *module) {
    if (owner_type == NULL) owner_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &owner_spec, NULL);
    if (owner_type == NULL || PyModule_AddFunctions(module, functions) != 0) return -1;
    return PyModule_AddObjectRef(module, "Owner", (PyObject *)owner_type);
}
