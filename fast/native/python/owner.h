/* Owners: the Python objects that hold the core's records of devices and memories, and give them up last of all. */
#ifndef COUNTERFOIL_PYTHON_OWNER_H
#define COUNTERFOIL_PYTHON_OWNER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the class Owner and the functions `device`, `memory` and `adopted`; 0, or -1 with an exception set. */
int cf_add_owners(PyObject *module);

#endif
