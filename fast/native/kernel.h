/* The kernels: one C call each, through the door. Each answers an enum cf_answer, or CF_LOST. */
#ifndef COUNTERFOIL_KERNEL_H
#define COUNTERFOIL_KERNEL_H

#include "array.h"
#include "door.h"
#include "program.h"

#include "kernels.h"

#endif
