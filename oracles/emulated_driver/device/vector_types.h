// The built-in vector types, aligned as on the device, and what makes them. Written out rather than made by macros:
// compilers' messages name them.
#pragma once

struct alignas(1) char1 { signed char x; };
inline char1 make_char1(signed char x) { return {x}; }
struct alignas(2) char2 { signed char x, y; };
inline char2 make_char2(signed char x, signed char y) { return {x, y}; }
struct alignas(1) char3 { signed char x, y, z; };
inline char3 make_char3(signed char x, signed char y, signed char z) { return {x, y, z}; }
struct alignas(4) char4 { signed char x, y, z, w; };
inline char4 make_char4(signed char x, signed char y, signed char z, signed char w) { return {x, y, z, w}; }
struct alignas(1) uchar1 { unsigned char x; };
inline uchar1 make_uchar1(unsigned char x) { return {x}; }
struct alignas(2) uchar2 { unsigned char x, y; };
inline uchar2 make_uchar2(unsigned char x, unsigned char y) { return {x, y}; }
struct alignas(1) uchar3 { unsigned char x, y, z; };
inline uchar3 make_uchar3(unsigned char x, unsigned char y, unsigned char z) { return {x, y, z}; }
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
inline uchar4 make_uchar4(unsigned char x, unsigned char y, unsigned char z, unsigned char w) { return {x, y, z, w}; }
struct alignas(2) short1 { short x; };
inline short1 make_short1(short x) { return {x}; }
struct alignas(4) short2 { short x, y; };
inline short2 make_short2(short x, short y) { return {x, y}; }
struct alignas(2) short3 { short x, y, z; };
inline short3 make_short3(short x, short y, short z) { return {x, y, z}; }
struct alignas(8) short4 { short x, y, z, w; };
inline short4 make_short4(short x, short y, short z, short w) { return {x, y, z, w}; }
struct alignas(2) ushort1 { unsigned short x; };
inline ushort1 make_ushort1(unsigned short x) { return {x}; }
struct alignas(4) ushort2 { unsigned short x, y; };
inline ushort2 make_ushort2(unsigned short x, unsigned short y) { return {x, y}; }
struct alignas(2) ushort3 { unsigned short x, y, z; };
inline ushort3 make_ushort3(unsigned short x, unsigned short y, unsigned short z) { return {x, y, z}; }
struct alignas(8) ushort4 { unsigned short x, y, z, w; };
inline ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w) {
    return {x, y, z, w};
}
struct alignas(4) int1 { int x; };
inline int1 make_int1(int x) { return {x}; }
struct alignas(8) int2 { int x, y; };
inline int2 make_int2(int x, int y) { return {x, y}; }
struct alignas(4) int3 { int x, y, z; };
inline int3 make_int3(int x, int y, int z) { return {x, y, z}; }
struct alignas(16) int4 { int x, y, z, w; };
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
struct alignas(4) uint1 { unsigned x; };
inline uint1 make_uint1(unsigned x) { return {x}; }
struct alignas(8) uint2 { unsigned x, y; };
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
struct alignas(4) uint3 { unsigned x, y, z; };
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
struct alignas(8) longlong1 { long long x; };
inline longlong1 make_longlong1(long long x) { return {x}; }
struct alignas(16) longlong2 { long long x, y; };
inline longlong2 make_longlong2(long long x, long long y) { return {x, y}; }
struct alignas(8) longlong3 { long long x, y, z; };
inline longlong3 make_longlong3(long long x, long long y, long long z) { return {x, y, z}; }
struct alignas(16) longlong4 { long long x, y, z, w; };
inline longlong4 make_longlong4(long long x, long long y, long long z, long long w) { return {x, y, z, w}; }
struct alignas(8) ulonglong1 { unsigned long long x; };
inline ulonglong1 make_ulonglong1(unsigned long long x) { return {x}; }
struct alignas(16) ulonglong2 { unsigned long long x, y; };
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }
struct alignas(8) ulonglong3 { unsigned long long x, y, z; };
inline ulonglong3 make_ulonglong3(unsigned long long x, unsigned long long y, unsigned long long z) {
    return {x, y, z};
}
struct alignas(16) ulonglong4 { unsigned long long x, y, z, w; };
inline ulonglong4 make_ulonglong4(unsigned long long x, unsigned long long y, unsigned long long z, unsigned long long w) {
    return {x, y, z, w};
}
struct alignas(4) float1 { float x; };
inline float1 make_float1(float x) { return {x}; }
struct alignas(8) float2 { float x, y; };
inline float2 make_float2(float x, float y) { return {x, y}; }
struct alignas(4) float3 { float x, y, z; };
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
struct alignas(16) float4 { float x, y, z, w; };
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
struct alignas(8) double1 { double x; };
inline double1 make_double1(double x) { return {x}; }
struct alignas(16) double2 { double x, y; };
inline double2 make_double2(double x, double y) { return {x, y}; }
struct alignas(8) double3 { double x, y, z; };
inline double3 make_double3(double x, double y, double z) { return {x, y, z}; }
struct alignas(16) double4 { double x, y, z, w; };
inline double4 make_double4(double x, double y, double z, double w) { return {x, y, z, w}; }

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
