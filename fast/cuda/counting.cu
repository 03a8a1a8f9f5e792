/* iota: every element of dst is its index along an axis, converted as an int64 is.
 *
 * Defines: CF_DST, the dtype; CF_RANK, the capacity of the layouts. The second operand has no bytes: its position is the
 * index along the axis.
 */
#include "layout.cuh"

extern "C" __global__ void __launch_bounds__(256) cf_count(const __grid_constant__ cf_operands<2, CF_RANK> all) {
    for (cf_u64 index = cf_first_index(); index < all.size; index += cf_index_step()) {
        cf_places<2> places = cf_places_of(all, (cf_number)index);
        cf_store<CF_DST>(all.data[0], places.at[0], cf_convert<CF_INT64, CF_DST>((cf_u64)places.at[1]));
    }
}
