/* Names for things that the machine does not have: each is refused where it is used. */
#ifndef METRONOME_OPENCL_REFUSED_H
#define METRONOME_OPENCL_REFUSED_H

#define METRONOME_NO_ATOMIC(name) \
    int __metronome_no_##name(void) __attribute__((unavailable( \
        "not supported: " #name ": the machine has no atomic operations; give each work-item or group a cell of its own, " \
        "and add the cells up behind a barrier or in a second kernel")));

METRONOME_NO_ATOMIC(atomic_add)
#define atomic_add(...) __metronome_no_atomic_add()
METRONOME_NO_ATOMIC(atomic_sub)
#define atomic_sub(...) __metronome_no_atomic_sub()
METRONOME_NO_ATOMIC(atomic_xchg)
#define atomic_xchg(...) __metronome_no_atomic_xchg()
METRONOME_NO_ATOMIC(atomic_inc)
#define atomic_inc(...) __metronome_no_atomic_inc()
METRONOME_NO_ATOMIC(atomic_dec)
#define atomic_dec(...) __metronome_no_atomic_dec()
METRONOME_NO_ATOMIC(atomic_cmpxchg)
#define atomic_cmpxchg(...) __metronome_no_atomic_cmpxchg()
METRONOME_NO_ATOMIC(atomic_min)
#define atomic_min(...) __metronome_no_atomic_min()
METRONOME_NO_ATOMIC(atomic_max)
#define atomic_max(...) __metronome_no_atomic_max()
METRONOME_NO_ATOMIC(atomic_and)
#define atomic_and(...) __metronome_no_atomic_and()
METRONOME_NO_ATOMIC(atomic_or)
#define atomic_or(...) __metronome_no_atomic_or()
METRONOME_NO_ATOMIC(atomic_xor)
#define atomic_xor(...) __metronome_no_atomic_xor()
METRONOME_NO_ATOMIC(atom_add)
#define atom_add(...) __metronome_no_atom_add()
METRONOME_NO_ATOMIC(atom_sub)
#define atom_sub(...) __metronome_no_atom_sub()
METRONOME_NO_ATOMIC(atom_xchg)
#define atom_xchg(...) __metronome_no_atom_xchg()
METRONOME_NO_ATOMIC(atom_inc)
#define atom_inc(...) __metronome_no_atom_inc()
METRONOME_NO_ATOMIC(atom_dec)
#define atom_dec(...) __metronome_no_atom_dec()
METRONOME_NO_ATOMIC(atom_cmpxchg)
#define atom_cmpxchg(...) __metronome_no_atom_cmpxchg()
METRONOME_NO_ATOMIC(atom_min)
#define atom_min(...) __metronome_no_atom_min()
METRONOME_NO_ATOMIC(atom_max)
#define atom_max(...) __metronome_no_atom_max()
METRONOME_NO_ATOMIC(atom_and)
#define atom_and(...) __metronome_no_atom_and()
METRONOME_NO_ATOMIC(atom_or)
#define atom_or(...) __metronome_no_atom_or()
METRONOME_NO_ATOMIC(atom_xor)
#define atom_xor(...) __metronome_no_atom_xor()

#define METRONOME_NO_IMAGE(name) \
    typedef int __metronome_no_##name __attribute__((unavailable( \
        "not supported: " #name ": the machine has no images; use buffers")));

METRONOME_NO_IMAGE(image1d_t)
#define image1d_t __metronome_no_image1d_t
METRONOME_NO_IMAGE(image1d_array_t)
#define image1d_array_t __metronome_no_image1d_array_t
METRONOME_NO_IMAGE(image1d_buffer_t)
#define image1d_buffer_t __metronome_no_image1d_buffer_t
METRONOME_NO_IMAGE(image2d_t)
#define image2d_t __metronome_no_image2d_t
METRONOME_NO_IMAGE(image2d_array_t)
#define image2d_array_t __metronome_no_image2d_array_t
METRONOME_NO_IMAGE(image3d_t)
#define image3d_t __metronome_no_image3d_t
METRONOME_NO_IMAGE(sampler_t)
#define sampler_t __metronome_no_sampler_t

#define METRONOME_NO_DOUBLE(name) \
    typedef float __metronome_no_##name __attribute__((unavailable( \
        "not supported: " #name ": the machine has float only")));
METRONOME_NO_DOUBLE(double)
#define double __metronome_no_double
METRONOME_NO_DOUBLE(double2)
#define double2 __metronome_no_double2
METRONOME_NO_DOUBLE(double3)
#define double3 __metronome_no_double3
METRONOME_NO_DOUBLE(double4)
#define double4 __metronome_no_double4
METRONOME_NO_DOUBLE(double8)
#define double8 __metronome_no_double8
METRONOME_NO_DOUBLE(double16)
#define double16 __metronome_no_double16
/* The compiler knows double, for printf. */
#undef cl_khr_fp64
#undef __opencl_c_fp64

/* They stand before images alone, and would be another error. */
#define __read_only
#define __write_only
#define __read_write
#define read_only
#define write_only
#define read_write

#define METRONOME_NO_COPY(name) \
    int __metronome_no_##name(void) __attribute__((unavailable( \
        "not supported: " #name ": copy with the work-items themselves, and put a barrier behind it")));

METRONOME_NO_COPY(async_work_group_copy)
#define async_work_group_copy(...) __metronome_no_async_work_group_copy()
METRONOME_NO_COPY(async_work_group_strided_copy)
#define async_work_group_strided_copy(...) __metronome_no_async_work_group_strided_copy()
METRONOME_NO_COPY(wait_group_events)
#define wait_group_events(...) __metronome_no_wait_group_events()

#endif
