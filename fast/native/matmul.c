/* matmul: products over the last two axes, earlier axes broadcast. float32 and float64 matrices whose rows or columns
 * are contiguous go to the BLAS, if there is one; all others are computed by blocks in their computing format. */
#include <string.h>

#include "blas.h"
#include "convert.h"
#include "element.h"
#include "kernel.h"
#include "pointwise.h"
#include "product.h"

enum { SIDE = CF_PRODUCT_SIDE, DEPTH = CF_PRODUCT_DEPTH, WIDEST_REAL = 8 };

/* One matrix of an operand. */
typedef struct matrix {
    const cf_array *array;
    int64_t first, row, column; /* position of (0, 0), strides in elements */
} matrix;

typedef struct extents {
    int64_t m, n, k;
} extents;

/* ---- shapes ----------------------------------------------------------------------------------------------------- */

static int64_t extent_from_end(const cf_array *array, int back) {
    int axis = array->layout.rank - back;
    return axis < 0 ? 1 : array->layout.shape[axis];
}

static int64_t stride_from_end(const cf_array *array, int back) {
    int axis = array->layout.rank - back;
    return axis < 0 || array->layout.shape[axis] == 1 ? 0 : array->layout.strides[axis];
}

static bool batch_fits(const cf_array *dst, const cf_array *x, const cf_array *y) {
    int rank = x->layout.rank > y->layout.rank ? x->layout.rank : y->layout.rank;
    if (dst->layout.rank != rank) return false;
    for (int back = 3; back <= rank; back++) {
        int64_t in_x = extent_from_end(x, back), in_y = extent_from_end(y, back);
        if (in_x != in_y && in_x != 1 && in_y != 1) return false;
        if (extent_from_end(dst, back) != (in_x == 1 ? in_y : in_x)) return false;
    }
    return true;
}

static bool shapes_fit(const cf_array *dst, const cf_array *x, const cf_array *y) {
    if (dst->layout.rank < 2 || x->layout.rank < 2 || y->layout.rank < 2) return false;
    return batch_fits(dst, x, y) && extent_from_end(x, 1) == extent_from_end(y, 2) &&
           extent_from_end(dst, 2) == extent_from_end(x, 2) && extent_from_end(dst, 1) == extent_from_end(y, 1);
}

/* ---- our own product -------------------------------------------------------------------------------------------- */

static int64_t shorter(int64_t a, int64_t b) { return a < b ? a : b; }

/* rows by columns elements from (row, column) on, in the computing format, into a zeroed block with lines of `line`. */
static void load_block(matrix from, int computing, int64_t row, int64_t column, int64_t rows, int64_t columns,
                       int64_t line, uint8_t *block) {
    uint64_t raw[SIDE > DEPTH ? SIDE : DEPTH];
    int width = cf_loose_bytes(cf_dtype_bits(computing));
    for (int64_t i = 0; i < rows; i++) {
        int64_t position = from.first + (row + i) * from.row + column * from.column;
        cf_element_load(from.array->bits, from.array->data, position, from.column, columns, raw);
        cf_convert(from.array->dtype, computing, raw, block + i * line * width, columns);
    }
}

static void store_block(matrix to, int computing, int64_t row, int64_t column, int64_t rows, int64_t columns,
                        const uint8_t *block) {
    uint64_t rounded[SIDE];
    int width = cf_loose_bytes(cf_dtype_bits(computing));
    for (int64_t i = 0; i < rows; i++) {
        int64_t position = to.first + (row + i) * to.row + column * to.column;
        cf_convert(computing, to.array->dtype, block + i * SIDE * width, rounded, columns);
        cf_element_store(to.array->bits, to.array->data, position, to.column, columns, rounded);
    }
}

static void product_by_blocks(extents extents, matrix a, matrix b, matrix c) {
    static const int64_t side = SIDE, depth = DEPTH;
    uint8_t left[SIDE * DEPTH * WIDEST_REAL] __attribute__((aligned(64)));
    uint8_t right[DEPTH * SIDE * WIDEST_REAL] __attribute__((aligned(64)));
    uint8_t sums[SIDE * SIDE * WIDEST_REAL] __attribute__((aligned(64)));
    int computing = cf_computing(c.array->dtype);
    for (int64_t j = 0; j < extents.n; j += side) {
        for (int64_t i = 0; i < extents.m; i += side) {
            int64_t rows = shorter(side, extents.m - i), columns = shorter(side, extents.n - j);
            memset(sums, 0, sizeof sums);
            for (int64_t l = 0; l < extents.k; l += depth) {
                int64_t terms = shorter(depth, extents.k - l);
                if (rows < side || terms < depth) memset(left, 0, sizeof left);
                if (columns < side || terms < depth) memset(right, 0, sizeof right);
                load_block(a, computing, i, l, rows, terms, depth, left);
                load_block(b, computing, l, j, terms, columns, side, right);
                cf_product_block(computing, left, right, sums);
            }
            store_block(c, computing, i, j, rows, columns, sums);
        }
    }
}

/* ---- the BLAS --------------------------------------------------------------------------------------------------- */

/* Whether rows (or columns, transposed) lie contiguous and apart, as a BLAS wants them. */
static bool leads(matrix from, int64_t rows, int64_t columns, cf_matrix *to) {
    int64_t bytes = from.array->bits / 8;
    to->data = from.array->data + from.first * bytes;
    to->transposed = !((from.column == 1 || columns == 1) && (rows == 1 || from.row >= columns));
    if (!to->transposed) {
        to->lead = rows == 1 ? columns : from.row;
        return true;
    }
    to->lead = columns == 1 ? rows : from.column;
    return (from.row == 1 || rows == 1) && (columns == 1 || from.column >= rows);
}

static bool product_by_blas(extents extents, matrix a, matrix b, matrix c) {
    int dtype = c.array->dtype;
    cf_matrix left, right, result;
    if ((dtype != CF_FLOAT32 && dtype != CF_FLOAT64) || extents.k == 0) return false;
    if (!leads(a, extents.m, extents.k, &left) || !leads(b, extents.k, extents.n, &right)) return false;
    if (!leads(c, extents.m, extents.n, &result) || result.transposed) return false;
    int64_t lead = left.lead > right.lead ? left.lead : right.lead;
    if (!cf_blas_takes(extents.m, extents.n, extents.k, lead > result.lead ? lead : result.lead)) return false;
    cf_blas_product(dtype == CF_FLOAT32, extents.m, extents.n, extents.k, left, right, result);
    return true;
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static matrix matrix_at(const cf_array *array, const int64_t *index, int batch) {
    matrix at = {array, array->layout.offset, stride_from_end(array, 2), stride_from_end(array, 1)};
    for (int axis = 0; axis < batch; axis++) at.first += index[axis] * stride_from_end(array, batch - axis + 2);
    return at;
}

/* The next index in C order; false after the last. */
static bool advance(int64_t *index, const int64_t *shape, int rank) {
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (++index[axis] < shape[axis]) return true;
        index[axis] = 0;
    }
    return false;
}

static void multiply(const cf_array *dst, const cf_array *x, const cf_array *y) {
    extents extents = {extent_from_end(x, 2), extent_from_end(y, 1), extent_from_end(x, 1)};
    int batch = dst->layout.rank - 2;
    int64_t index[CF_MAX_RANK] = {0};
    if (dst->layout.size == 0) return;
    do {
        matrix a = matrix_at(x, index, batch), b = matrix_at(y, index, batch), c = matrix_at(dst, index, batch);
        if (!product_by_blas(extents, a, b, c)) product_by_blocks(extents, a, b, c);
    } while (advance(index, dst->layout.shape, batch));
}

static bool is_source(const cf_array *dst, const cf_array *source) {
    return dst->layout.size > 0 && cf_identical(dst, source);
}

int cf_matmul(const cf_array *dst, const cf_array *x, const cf_array *y) {
    const cf_array *operands[] = {dst, x, y};
    int sources[] = {x->dtype, y->dtype};
    int answer = cf_door_enter(operands, 1, 3, cf_row_fits(CF_KERNEL_MATMUL, dst->dtype, sources, 2));
    if (answer != CF_DONE) return answer;
    if (!shapes_fit(dst, x, y)) return cf_door_refuse(operands, 3, CF_SHAPE_MISMATCH);
    if (is_source(dst, x) || is_source(dst, y)) return cf_door_refuse(operands, 3, CF_DECLINED);
    if (cf_door_wait(operands, 1, 3)) return CF_LOST;
    multiply(dst, x, y);
    return cf_door_leave(operands, 3);
}
