//go:build mpi && linux

#include "textflag.h"

// shim is int shim(Call *c): it has the stack and the registers of a C function.
TEXT shim<>(SB), NOSPLIT|NOFRAME, $0
	SUBQ	$24, SP      // the seventh argument, BX, and alignment
	MOVQ	BX, 16(SP)   // C functions keep it
	MOVQ	DI, BX

again:
	MOVQ	56(BX), AX
	MOVQ	AX, 0(SP)
	MOVQ	8(BX), DI
	MOVQ	16(BX), SI
	MOVQ	24(BX), DX
	MOVQ	32(BX), CX
	MOVQ	40(BX), R8
	MOVQ	48(BX), R9
	MOVQ	0(BX), R11
	XORL	AX, AX       // no floating-point arguments
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

GLOBL ·shim(SB), NOPTR|RODATA, $8
DATA ·shim+0(SB)/8, $shim<>(SB)
