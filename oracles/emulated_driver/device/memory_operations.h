// Fences, and loads and stores with cache hints: plain ones here.
#pragma once

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}

#define EMUCUDA_LOAD(name)              \
    template <class Type>               \
    inline Type name(const Type *at) {  \
        return *at;                     \
    }
EMUCUDA_LOAD(__ldg)
EMUCUDA_LOAD(__ldca)
EMUCUDA_LOAD(__ldcg)
EMUCUDA_LOAD(__ldcs)
EMUCUDA_LOAD(__ldlu)
EMUCUDA_LOAD(__ldcv)
#undef EMUCUDA_LOAD

namespace emucuda {
template <class Type>
struct Same {
    using Result = Type;
};
}  // namespace emucuda

#define EMUCUDA_STORE(name)                                                  \
    template <class Type>                                                    \
    inline void name(Type *at, typename emucuda::Same<Type>::Result value) { \
        *at = value;                                                         \
    }
EMUCUDA_STORE(__stwb)
EMUCUDA_STORE(__stcg)
EMUCUDA_STORE(__stcs)
EMUCUDA_STORE(__stwt)
#undef EMUCUDA_STORE

// Everything is reached by one kind of address here.
inline size_t __cvta_generic_to_shared(const void *pointer) { return reinterpret_cast<size_t>(pointer); }
inline size_t __cvta_generic_to_global(const void *pointer) { return reinterpret_cast<size_t>(pointer); }
inline long long clock64() { return 0; }
inline int clock() { return 0; }
