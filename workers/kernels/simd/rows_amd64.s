#include "textflag.h"

// Loops over rows of float32, eight at a time. R8 counts what is left.

DATA ones<>+0(SB)/4, $1
GLOBL ones<>(SB), RODATA|NOPTR, $4
DATA halfUlp<>+0(SB)/4, $0x7fff
GLOBL halfUlp<>(SB), RODATA|NOPTR, $4
DATA quietNaN<>+0(SB)/4, $0x7fc0
GLOBL quietNaN<>(SB), RODATA|NOPTR, $4

// exp: bounds, log2(e), -ln(2) in two parts, the exponent's bias, and 1/k! from 7 down to 0.
DATA expc<>+0(SB)/4, $-87.0
DATA expc<>+4(SB)/4, $88.0
DATA expc<>+8(SB)/4, $1.44269504088896341
DATA expc<>+12(SB)/4, $-0.693145751953125
DATA expc<>+16(SB)/4, $-1.42860682030941723e-6
DATA expc<>+20(SB)/4, $127
DATA expc<>+24(SB)/4, $1.98412698412698413e-4
DATA expc<>+28(SB)/4, $1.38888888888888889e-3
DATA expc<>+32(SB)/4, $8.33333333333333333e-3
DATA expc<>+36(SB)/4, $4.16666666666666667e-2
DATA expc<>+40(SB)/4, $0.166666666666666667
DATA expc<>+44(SB)/4, $0.5
DATA expc<>+48(SB)/4, $1.0
GLOBL expc<>(SB), RODATA|NOPTR, $52

#define EXPCONSTANTS \
	VBROADCASTSS expc<>+0(SB), Y4; \
	VBROADCASTSS expc<>+4(SB), Y5; \
	VBROADCASTSS expc<>+8(SB), Y6; \
	VBROADCASTSS expc<>+12(SB), Y7; \
	VBROADCASTSS expc<>+16(SB), Y8; \
	VBROADCASTSS expc<>+20(SB), Y9; \
	VBROADCASTSS expc<>+24(SB), Y10; \
	VBROADCASTSS expc<>+28(SB), Y11; \
	VBROADCASTSS expc<>+32(SB), Y12; \
	VBROADCASTSS expc<>+36(SB), Y13; \
	VBROADCASTSS expc<>+40(SB), Y14; \
	VBROADCASTSS expc<>+44(SB), Y15

// Y0 = exp(Y0): x = n ln2 + r, 2^n times the series of r. Uses Y1, Y2 and Y3, which is left at 1.
#define EXP \
	VMAXPS Y4, Y0, Y0; \
	VMINPS Y5, Y0, Y0; \
	VMULPS Y6, Y0, Y1; \
	VROUNDPS $0, Y1, Y1; \
	VFMADD231PS Y7, Y1, Y0; \
	VFMADD231PS Y8, Y1, Y0; \
	VCVTPS2DQ Y1, Y1; \
	VPADDD Y9, Y1, Y1; \
	VPSLLD $23, Y1, Y1; \
	VMOVAPS Y10, Y2; \
	VFMADD213PS Y11, Y0, Y2; \
	VFMADD213PS Y12, Y0, Y2; \
	VFMADD213PS Y13, Y0, Y2; \
	VFMADD213PS Y14, Y0, Y2; \
	VFMADD213PS Y15, Y0, Y2; \
	VBROADCASTSS expc<>+48(SB), Y3; \
	VFMADD213PS Y3, Y0, Y2; \
	VFMADD213PS Y3, Y0, Y2; \
	VMULPS Y1, Y2, Y0

// X0 = the sum of the lanes of Y0; uses X1.
#define SUMLANES \
	VEXTRACTF128 $1, Y0, X1; \
	VADDPS X1, X0, X0; \
	VHADDPS X0, X0, X0; \
	VHADDPS X0, X0, X0

// func widen(dst *float32, src *uint16, n int)
TEXT ·widen(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), R8

loop:
	VPMOVZXWD (SI), Y0
	VPSLLD    $16, Y0, Y0
	VMOVDQU   Y0, (DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	SUBQ      $8, R8
	JNZ       loop
	VZEROUPPER
	RET

// func narrow(dst *uint16, src *float32, n int)
TEXT ·narrow(SB), NOSPLIT, $0-24
	MOVQ         dst+0(FP), DI
	MOVQ         src+8(FP), SI
	MOVQ         n+16(FP), R8
	VPBROADCASTD ones<>(SB), Y4
	VPBROADCASTD halfUlp<>(SB), Y5
	VPBROADCASTD quietNaN<>(SB), Y6

loop:
	VMOVDQU    (SI), Y0
	VPSRLD     $16, Y0, Y1
	VPAND      Y4, Y1, Y1
	VPADDD     Y0, Y1, Y1
	VPADDD     Y5, Y1, Y1
	VPSRLD     $16, Y1, Y1
	VCMPPS     $3, Y0, Y0, Y2
	VBLENDVPS  Y2, Y6, Y1, Y1
	VPACKUSDW  Y1, Y1, Y1
	VPERMQ     $8, Y1, Y1
	VMOVDQU    X1, (DI)
	ADDQ       $32, SI
	ADDQ       $16, DI
	SUBQ       $8, R8
	JNZ        loop
	VZEROUPPER
	RET

// func moments(x *float32, n int, shift float32) (sum, squares float32)
TEXT ·moments(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), SI
	MOVQ         n+8(FP), R8
	VBROADCASTSS shift+16(FP), Y4
	VXORPS       Y0, Y0, Y0
	VXORPS       Y2, Y2, Y2

loop:
	VMOVUPS     (SI), Y3
	VSUBPS      Y4, Y3, Y3
	VADDPS      Y3, Y0, Y0
	VFMADD231PS Y3, Y3, Y2
	ADDQ        $32, SI
	SUBQ        $8, R8
	JNZ         loop
	SUMLANES
	VMOVSS X0, sum+24(FP)
	VMOVAPS Y2, Y0
	SUMLANES
	VMOVSS X0, squares+28(FP)
	VZEROUPPER
	RET

// func largest(x *float32, n int) float32
TEXT ·largest(SB), NOSPLIT, $0-20
	MOVQ    x+0(FP), SI
	MOVQ    n+8(FP), R8
	VMOVUPS (SI), Y0

loop:
	VMAXPS (SI), Y0, Y0
	ADDQ   $32, SI
	SUBQ   $8, R8
	JNZ    loop
	VEXTRACTF128 $1, Y0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0x4E, X0, X1
	VMAXPS       X1, X0, X0
	VPERMILPS    $0xB1, X0, X1
	VMAXPS       X1, X0, X0
	VMOVSS       X0, ret+16(FP)
	VZEROUPPER
	RET

// func expSum(dst, x *float32, n int, scale, shift float32) float32
//
// Registers are short: scale and shift are read from the frame, the sum is kept on it.
TEXT ·expSum(SB), NOSPLIT, $32-36
	MOVQ    dst+0(FP), DI
	MOVQ    x+8(FP), SI
	MOVQ    n+16(FP), R8
	VXORPS  Y0, Y0, Y0
	VMOVUPS Y0, sums-32(SP)
	EXPCONSTANTS

loop:
	VBROADCASTSS scale+24(FP), Y1
	VBROADCASTSS shift+28(FP), Y2
	VMOVUPS      (SI), Y0
	VFMSUB213PS  Y2, Y1, Y0
	EXP
	VMOVUPS Y0, (DI)
	VADDPS  sums-32(SP), Y0, Y0
	VMOVUPS Y0, sums-32(SP)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, R8
	JNZ     loop
	SUMLANES
	VMOVSS X0, ret+32(FP)
	VZEROUPPER
	RET

// func sigmoid(x *float32, n int, a, b float32)
TEXT ·sigmoid(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), R8
	EXPCONSTANTS

loop:
	VMOVUPS      (SI), Y3
	VBROADCASTSS a+16(FP), Y0
	VBROADCASTSS b+20(FP), Y1
	VMULPS       Y3, Y3, Y2
	VFMADD231PS  Y1, Y2, Y0
	VMULPS       Y3, Y0, Y0
	VXORPS       Y1, Y1, Y1
	VSUBPS       Y0, Y1, Y0
	EXP
	VADDPS  Y3, Y0, Y0
	VMOVUPS (SI), Y3
	VDIVPS  Y0, Y3, Y0
	VMOVUPS Y0, (SI)
	ADDQ    $32, SI
	SUBQ    $8, R8
	JNZ     loop
	VZEROUPPER
	RET

// func mulAdd(dst, x, by, plus *float32, n int)
TEXT ·mulAdd(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ by+16(FP), R9
	MOVQ plus+24(FP), R10
	MOVQ n+32(FP), R8

loop:
	VMOVUPS     (SI), Y0
	VMOVUPS     (R9), Y1
	VFMADD213PS (R10), Y1, Y0
	VMOVUPS     Y0, (DI)
	ADDQ        $32, SI
	ADDQ        $32, R9
	ADDQ        $32, R10
	ADDQ        $32, DI
	SUBQ        $8, R8
	JNZ         loop
	VZEROUPPER
	RET

// func affine(dst, x *float32, n int, s, t float32)
TEXT ·affine(SB), NOSPLIT, $0-32
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         n+16(FP), R8
	VBROADCASTSS s+24(FP), Y1
	VBROADCASTSS t+28(FP), Y2

loop:
	VMOVUPS     (SI), Y0
	VFMADD213PS Y2, Y1, Y0
	VMOVUPS     Y0, (DI)
	ADDQ        $32, SI
	ADDQ        $32, DI
	SUBQ        $8, R8
	JNZ         loop
	VZEROUPPER
	RET

// func rotate(dst, x, table *float32, n int)
TEXT ·rotate(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ table+16(FP), R9
	MOVQ n+24(FP), R8

loop:
	VMOVUPS        (SI), Y0
	VMOVSLDUP      (R9), Y1            // cos, cos
	VMOVSHDUP      (R9), Y2            // sin, sin
	VPERMILPS      $0xB1, Y0, Y3       // b, a
	VMULPS         Y2, Y3, Y3
	VFMADDSUB213PS Y3, Y1, Y0          // a cos - b sin, b cos + a sin
	VMOVUPS        Y0, (DI)
	ADDQ           $32, SI
	ADDQ           $32, R9
	ADDQ           $32, DI
	SUBQ           $8, R8
	JNZ            loop
	VZEROUPPER
	RET

// func dot(x *float32, w *uint16, n int) float32
TEXT ·dot(SB), NOSPLIT, $0-28
	MOVQ   x+0(FP), SI
	MOVQ   w+8(FP), R9
	MOVQ   n+16(FP), R8
	VXORPS Y0, Y0, Y0
	VXORPS Y2, Y2, Y2
	TESTQ  $8, R8
	JZ     pairs
	VPMOVZXWD   (R9), Y1
	VPSLLD      $16, Y1, Y1
	VFMADD231PS (SI), Y1, Y0
	ADDQ        $32, SI
	ADDQ        $16, R9
	SUBQ        $8, R8
	JZ          done

pairs:
	VPMOVZXWD   (R9), Y1
	VPMOVZXWD   16(R9), Y3
	VPSLLD      $16, Y1, Y1
	VPSLLD      $16, Y3, Y3
	VFMADD231PS (SI), Y1, Y0
	VFMADD231PS 32(SI), Y3, Y2
	ADDQ        $64, SI
	ADDQ        $32, R9
	SUBQ        $16, R8
	JNZ         pairs

done:
	VADDPS Y2, Y0, Y0
	SUMLANES
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET

// func transpose(dst *uint32, strideOut int, src *uint32, strideIn, n int)
//
// Blocks of eight by eight: pairs of rows are interleaved, then pairs of pairs, then halves.
TEXT ·transpose(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ strideOut+8(FP), R10
	MOVQ src+16(FP), SI
	MOVQ strideIn+24(FP), R9
	MOVQ n+32(FP), R8
	SHLQ $2, R9
	SHLQ $2, R10
	LEAQ (R9)(R9*2), R11
	LEAQ (R10)(R10*2), R12

loop:
	LEAQ       (SI)(R9*4), AX
	VMOVDQU    (SI), Y0
	VMOVDQU    (SI)(R9*1), Y1
	VMOVDQU    (SI)(R9*2), Y2
	VMOVDQU    (SI)(R11*1), Y3
	VMOVDQU    (AX), Y4
	VMOVDQU    (AX)(R9*1), Y5
	VMOVDQU    (AX)(R9*2), Y6
	VMOVDQU    (AX)(R11*1), Y7
	VPUNPCKLDQ Y1, Y0, Y8
	VPUNPCKHDQ Y1, Y0, Y9
	VPUNPCKLDQ Y3, Y2, Y10
	VPUNPCKHDQ Y3, Y2, Y11
	VPUNPCKLDQ Y5, Y4, Y12
	VPUNPCKHDQ Y5, Y4, Y13
	VPUNPCKLDQ Y7, Y6, Y14
	VPUNPCKHDQ Y7, Y6, Y15
	VPUNPCKLQDQ Y10, Y8, Y0
	VPUNPCKHQDQ Y10, Y8, Y1
	VPUNPCKLQDQ Y11, Y9, Y2
	VPUNPCKHQDQ Y11, Y9, Y3
	VPUNPCKLQDQ Y14, Y12, Y4
	VPUNPCKHQDQ Y14, Y12, Y5
	VPUNPCKLQDQ Y15, Y13, Y6
	VPUNPCKHQDQ Y15, Y13, Y7
	VPERM2I128 $0x20, Y4, Y0, Y8
	VPERM2I128 $0x20, Y5, Y1, Y9
	VPERM2I128 $0x20, Y6, Y2, Y10
	VPERM2I128 $0x20, Y7, Y3, Y11
	VPERM2I128 $0x31, Y4, Y0, Y12
	VPERM2I128 $0x31, Y5, Y1, Y13
	VPERM2I128 $0x31, Y6, Y2, Y14
	VPERM2I128 $0x31, Y7, Y3, Y15
	LEAQ       (DI)(R10*4), AX
	VMOVDQU    Y8, (DI)
	VMOVDQU    Y9, (DI)(R10*1)
	VMOVDQU    Y10, (DI)(R10*2)
	VMOVDQU    Y11, (DI)(R12*1)
	VMOVDQU    Y12, (AX)
	VMOVDQU    Y13, (AX)(R10*1)
	VMOVDQU    Y14, (AX)(R10*2)
	VMOVDQU    Y15, (AX)(R12*1)
	LEAQ       (AX)(R10*4), DI
	ADDQ       $32, SI
	SUBQ       $8, R8
	JNZ        loop
	VZEROUPPER
	RET

// func interleave(dst *uint32, a, b *uint16, n int)
TEXT ·interleave(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), R9
	MOVQ n+24(FP), R8

loop:
	VPMOVZXWD (SI), Y0
	VPMOVZXWD (R9), Y1
	VPSLLD    $16, Y1, Y1
	VPOR      Y1, Y0, Y0
	VMOVDQU   Y0, (DI)
	ADDQ      $16, SI
	ADDQ      $16, R9
	ADDQ      $32, DI
	SUBQ      $8, R8
	JNZ       loop
	VZEROUPPER
	RET
