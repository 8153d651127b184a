//go:build mpi && linux

#include "textflag.h"

// shim is int shim(Call *c): it has the stack and the registers of a C function.
TEXT shim<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ	DI, R11
	SUBQ	$24, SP      // the seventh argument, and alignment
	MOVQ	56(R11), AX
	MOVQ	AX, 0(SP)
	MOVQ	8(R11), DI
	MOVQ	16(R11), SI
	MOVQ	24(R11), DX
	MOVQ	32(R11), CX
	MOVQ	40(R11), R8
	MOVQ	48(R11), R9
	MOVQ	0(R11), R11
	XORL	AX, AX       // no floating-point arguments
	CALL	R11
	ADDQ	$24, SP
	RET

GLOBL ·shim(SB), NOPTR|RODATA, $8
DATA ·shim+0(SB)/8, $shim<>(SB)

// repeat is int repeat(Call *c), which makes the call until it is done.
TEXT repeat<>(SB), NOSPLIT|NOFRAME, $0
	SUBQ	$24, SP
	MOVQ	BX, 16(SP)   // which C functions keep
	MOVQ	DI, BX
again:
	MOVQ	0(BX), R11
	MOVQ	8(BX), DI
	MOVQ	16(BX), SI
	MOVQ	24(BX), DX
	MOVQ	32(BX), CX
	MOVQ	40(BX), R8
	MOVQ	48(BX), R9
	XORL	AX, AX
	CALL	R11
	TESTL	AX, AX
	JNE	done
	CMPL	64(BX), $0   // Done
	JNE	done
	DECL	68(BX)       // times
	JG	again
done:
	MOVQ	16(SP), BX
	ADDQ	$24, SP
	RET

GLOBL ·repeat(SB), NOPTR|RODATA, $8
DATA ·repeat+0(SB)/8, $repeat<>(SB)
