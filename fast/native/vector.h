/* Vector code chosen at run time: a function marked CF_VECTOR is compiled for several CPUs, the best one being picked
 * when the library is loaded. No version contracts or reorders floating point, so all give the same bits. With
 * CF_ONE_CPU defined there is one version, for the CPU the flags name: how the versions are compared. */
#ifndef COUNTERFOIL_VECTOR_H
#define COUNTERFOIL_VECTOR_H

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(CF_ONE_CPU)
#define CF_VECTOR __attribute__((noinline, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CF_VECTOR __attribute__((noinline))
#endif

#endif
