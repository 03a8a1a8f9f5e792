/* Everything the Python half sees. */
#ifndef COUNTERFOIL_NATIVE_H
#define COUNTERFOIL_NATIVE_H

#include "access.h"
#include "array.h"
#include "blas.h"
#include "block_product.h"
#include "bounds.h"
#include "claims.h"
#include "convert.h"
#include "copy.h"
#include "dispatch.h"
#include "distinct.h"
#include "door.h"
#include "element.h"
#include "layout.h"
#include "ledger.h"
#include "loop.h"
#include "memory.h"
#include "move.h"
#include "overlap.h"
#include "parallel.h"
#include "placement.h"
#include "program.h"
#include "words.h"

#include "kernels.h"

#endif
