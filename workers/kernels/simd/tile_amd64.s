#include "go_asm.h"
#include "textflag.h"

// Every tile keeps its sums in registers over all taps and units. Per unit it loads a row of B
// once, and each row's unit of A into all lanes. DI is the Tile, SI walks over B, R12 is LDA,
// R13 walks over the taps' offsets, DX and CX count taps and units.

#define BEGIN \
	MOVQ t+0(FP), DI; \
	MOVQ Tile_LDA(DI), R12; \
	MOVQ Tile_B(DI), SI; \
	MOVQ Tile_Init(DI), AX; \
	MOVQ Tile_Offsets(DI), R13; \
	MOVQ Tile_Taps(DI), DX

// R8, R9, R10, R11: rows 0, 3, 6 and 9 of the next tap.
#define NEXTTAP \
	MOVQ (R13), R8; \
	ADDQ $8, R13; \
	ADDQ Tile_A(DI), R8; \
	LEAQ (R12)(R12*2), AX; \
	LEAQ (R8)(AX*1), R9; \
	LEAQ (R9)(AX*1), R10; \
	LEAQ (R10)(AX*1), R11; \
	MOVQ Tile_Units(DI), CX

// d += pairs of s times pairs of r, by numbers of Z registers: VDPBF16PS, which the assembler
// does not know (EVEX.512.F3.0F38.W0 52 /r).
#define DPBF16(d, s, r) \
	BYTE $0x62; \
	BYTE $(0x02 + ((((d)>>3)&1)^1)*128 + ((((r)>>4)&1)^1)*64 + ((((r)>>3)&1)^1)*32 + ((((d)>>4)&1)^1)*16); \
	BYTE $(0x06 + (((s)&15)^15)*8); \
	BYTE $(0x40 + ((((s)>>4)&1)^1)*8); \
	BYTE $0x52; \
	BYTE $(0xC0 + ((d)&7)*8 + ((r)&7))

// The same with pairs of Z24 and of one unit in memory, at R8 + base, R8 to R11, and scale 1 or 2
// times R12, or none: scale holds the SIB byte's upper bits, none is 64 where there is no R12.
#define DPBF16AT(d, base, scale, none) \
	BYTE $0x62; \
	BYTE $(0x02 + ((((d)>>3)&1)^1)*128 + (none) + ((((d)>>4)&1)^1)*16); \
	BYTE $0x3E; \
	BYTE $0x50; \
	BYTE $0x52; \
	BYTE $(0x04 + ((d)&7)*8); \
	BYTE $(0x20 + (scale) + (base))

// func tile6x16(t *Tile)
TEXT ·tile6x16(SB), NOSPLIT, $0-8
	BEGIN
	VMOVUPS (AX), Y0
	VMOVUPS 32(AX), Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y1, Y3
	VMOVAPS Y0, Y4
	VMOVAPS Y1, Y5
	VMOVAPS Y0, Y6
	VMOVAPS Y1, Y7
	VMOVAPS Y0, Y8
	VMOVAPS Y1, Y9
	VMOVAPS Y0, Y10
	VMOVAPS Y1, Y11

tap:
	NEXTTAP

unit:
	VMOVUPS      (SI), Y12
	VMOVUPS      32(SI), Y13
	VBROADCASTSS (R8), Y14
	VBROADCASTSS (R8)(R12*1), Y15
	VFMADD231PS  Y12, Y14, Y0
	VFMADD231PS  Y13, Y14, Y1
	VFMADD231PS  Y12, Y15, Y2
	VFMADD231PS  Y13, Y15, Y3
	VBROADCASTSS (R8)(R12*2), Y14
	VBROADCASTSS (R9), Y15
	VFMADD231PS  Y12, Y14, Y4
	VFMADD231PS  Y13, Y14, Y5
	VFMADD231PS  Y12, Y15, Y6
	VFMADD231PS  Y13, Y15, Y7
	VBROADCASTSS (R9)(R12*1), Y14
	VBROADCASTSS (R9)(R12*2), Y15
	VFMADD231PS  Y12, Y14, Y8
	VFMADD231PS  Y13, Y14, Y9
	VFMADD231PS  Y12, Y15, Y10
	VFMADD231PS  Y13, Y15, Y11
	ADDQ         $4, R8
	ADDQ         $4, R9
	ADDQ         $64, SI
	DECQ         CX
	JNZ          unit
	DECQ         DX
	JNZ          tap

	MOVQ    Tile_C(DI), AX
	MOVQ    Tile_LDC(DI), BX
	VMOVUPS Y0, (AX)
	VMOVUPS Y1, 32(AX)
	ADDQ    BX, AX
	VMOVUPS Y2, (AX)
	VMOVUPS Y3, 32(AX)
	ADDQ    BX, AX
	VMOVUPS Y4, (AX)
	VMOVUPS Y5, 32(AX)
	ADDQ    BX, AX
	VMOVUPS Y6, (AX)
	VMOVUPS Y7, 32(AX)
	ADDQ    BX, AX
	VMOVUPS Y8, (AX)
	VMOVUPS Y9, 32(AX)
	ADDQ    BX, AX
	VMOVUPS Y10, (AX)
	VMOVUPS Y11, 32(AX)
	VZEROUPPER
	RET

// The twelve rows of a unit; ROW adds one, whose place it is told in two ways.
#define UNIT \
	ROW((R8), 0, 0, 64, Z26, 26, Z0, 0, Z1, 1); \
	ROW((R8)(R12*1), 0, 0, 0, Z27, 27, Z2, 2, Z3, 3); \
	ROW((R8)(R12*2), 0, 0x40, 0, Z28, 28, Z4, 4, Z5, 5); \
	ROW((R9), 1, 0, 64, Z29, 29, Z6, 6, Z7, 7); \
	ROW((R9)(R12*1), 1, 0, 0, Z26, 26, Z8, 8, Z9, 9); \
	ROW((R9)(R12*2), 1, 0x40, 0, Z27, 27, Z10, 10, Z11, 11); \
	ROW((R10), 2, 0, 64, Z28, 28, Z12, 12, Z13, 13); \
	ROW((R10)(R12*1), 2, 0, 0, Z29, 29, Z14, 14, Z15, 15); \
	ROW((R10)(R12*2), 2, 0x40, 0, Z26, 26, Z16, 16, Z17, 17); \
	ROW((R11), 3, 0, 64, Z27, 27, Z18, 18, Z19, 19); \
	ROW((R11)(R12*1), 3, 0, 0, Z28, 28, Z20, 20, Z21, 21); \
	ROW((R11)(R12*2), 3, 0x40, 0, Z29, 29, Z22, 22, Z23, 23); \
	ADDQ $4, R8; \
	ADDQ $4, R9; \
	ADDQ $4, R10; \
	ADDQ $4, R11

#define BEGIN32 \
	BEGIN; \
	VMOVUPS (AX), Z0; \
	VMOVUPS 64(AX), Z1; \
	VMOVAPS Z0, Z2; \
	VMOVAPS Z1, Z3; \
	VMOVAPS Z0, Z4; \
	VMOVAPS Z1, Z5; \
	VMOVAPS Z0, Z6; \
	VMOVAPS Z1, Z7; \
	VMOVAPS Z0, Z8; \
	VMOVAPS Z1, Z9; \
	VMOVAPS Z0, Z10; \
	VMOVAPS Z1, Z11; \
	VMOVAPS Z0, Z12; \
	VMOVAPS Z1, Z13; \
	VMOVAPS Z0, Z14; \
	VMOVAPS Z1, Z15; \
	VMOVAPS Z0, Z16; \
	VMOVAPS Z1, Z17; \
	VMOVAPS Z0, Z18; \
	VMOVAPS Z1, Z19; \
	VMOVAPS Z0, Z20; \
	VMOVAPS Z1, Z21; \
	VMOVAPS Z0, Z22; \
	VMOVAPS Z1, Z23

#define STORE32(a, b) \
	VMOVUPS a, (AX); \
	VMOVUPS b, 64(AX); \
	ADDQ BX, AX

#define END32 \
	MOVQ Tile_C(DI), AX; \
	MOVQ Tile_LDC(DI), BX; \
	STORE32(Z0, Z1); \
	STORE32(Z2, Z3); \
	STORE32(Z4, Z5); \
	STORE32(Z6, Z7); \
	STORE32(Z8, Z9); \
	STORE32(Z10, Z11); \
	STORE32(Z12, Z13); \
	STORE32(Z14, Z15); \
	STORE32(Z16, Z17); \
	STORE32(Z18, Z19); \
	STORE32(Z20, Z21); \
	STORE32(Z22, Z23); \
	VZEROUPPER

#define BEGIN16 \
	BEGIN; \
	VMOVUPS (AX), Z0; \
	VMOVAPS Z0, Z2; \
	VMOVAPS Z0, Z4; \
	VMOVAPS Z0, Z6; \
	VMOVAPS Z0, Z8; \
	VMOVAPS Z0, Z10; \
	VMOVAPS Z0, Z12; \
	VMOVAPS Z0, Z14; \
	VMOVAPS Z0, Z16; \
	VMOVAPS Z0, Z18; \
	VMOVAPS Z0, Z20; \
	VMOVAPS Z0, Z22

#define STORE16(a) \
	VMOVUPS a, (AX); \
	ADDQ BX, AX

#define END16 \
	MOVQ Tile_C(DI), AX; \
	MOVQ Tile_LDC(DI), BX; \
	STORE16(Z0); \
	STORE16(Z2); \
	STORE16(Z4); \
	STORE16(Z6); \
	STORE16(Z8); \
	STORE16(Z10); \
	STORE16(Z12); \
	STORE16(Z14); \
	STORE16(Z16); \
	STORE16(Z18); \
	STORE16(Z20); \
	STORE16(Z22); \
	VZEROUPPER

#define ROW(at, base, scale, none, zb, nb, z0, n0, z1, n1) \
	VBROADCASTSS at, zb; \
	VFMADD231PS Z24, zb, z0; \
	VFMADD231PS Z25, zb, z1

// func tile12x32(t *Tile)
TEXT ·tile12x32(SB), NOSPLIT, $0-8
	BEGIN32

tap:
	NEXTTAP

unit:
	VMOVUPS (SI), Z24
	VMOVUPS 64(SI), Z25
	ADDQ    $128, SI
	UNIT
	DECQ    CX
	JNZ     unit
	DECQ    DX
	JNZ     tap
	END32
	RET

#undef ROW
#define ROW(at, base, scale, none, zb, nb, z0, n0, z1, n1) \
	VFMADD231PS.BCST at, Z24, z0

// func tile12x16(t *Tile)
TEXT ·tile12x16(SB), NOSPLIT, $0-8
	BEGIN16

tap:
	NEXTTAP

unit:
	VMOVUPS (SI), Z24
	ADDQ    $64, SI
	UNIT
	DECQ    CX
	JNZ     unit
	DECQ    DX
	JNZ     tap
	END16
	RET

#undef ROW
#define ROW(at, base, scale, none, zb, nb, z0, n0, z1, n1) \
	VBROADCASTSS at, zb; \
	DPBF16(n0, nb, 24); \
	DPBF16(n1, nb, 25)

// func tilePairs12x32(t *Tile)
TEXT ·tilePairs12x32(SB), NOSPLIT, $0-8
	BEGIN32

tap:
	NEXTTAP

unit:
	VMOVUPS (SI), Z24
	VMOVUPS 64(SI), Z25
	ADDQ    $128, SI
	UNIT
	DECQ    CX
	JNZ     unit
	DECQ    DX
	JNZ     tap
	END32
	RET

#undef ROW
#define ROW(at, base, scale, none, zb, nb, z0, n0, z1, n1) \
	DPBF16AT(n0, base, scale, none)

// func tilePairs12x16(t *Tile)
TEXT ·tilePairs12x16(SB), NOSPLIT, $0-8
	BEGIN16

tap:
	NEXTTAP

unit:
	VMOVUPS (SI), Z24
	ADDQ    $64, SI
	UNIT
	DECQ    CX
	JNZ     unit
	DECQ    DX
	JNZ     tap
	END16
	RET
