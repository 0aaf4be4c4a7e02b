/* Conversion between Fortran and C integers, for builds in which both have 32 bits. */
#ifndef LFC_COMPAT_FINT_2_INT_H
#define LFC_COMPAT_FINT_2_INT_H

#include "ompi_config.h"

#if OMPI_SIZEOF_FORTRAN_INTEGER != SIZEOF_INT
#error "this stand-in assumes that a Fortran INTEGER is a C int"
#endif

#define OMPI_INT_2_FINT(value) (value)
#define OMPI_FINT_2_INT(value) (value)

#endif
