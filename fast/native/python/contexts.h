/* Contexts and routines as Python objects that hold what `run` looks at. */
#ifndef COUNTERFOIL_PYTHON_CONTEXTS_H
#define COUNTERFOIL_PYTHON_CONTEXTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the classes Standing (of contexts) and Dispatchable (of routines); 0, or -1 with an exception set. */
int cf_add_contexts(PyObject *module);

#endif
