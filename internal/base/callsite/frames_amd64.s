#include "textflag.h"

// func frames(to *calls)
//
// It follows the frame pointers, beginning with that of the caller of its caller.
TEXT ·frames(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ to+0(FP), DI
	MOVQ BP, SI
	MOVQ $4, CX
	TESTQ SI, SI
	JZ   done
	MOVQ (SI), SI
next:
	TESTQ SI, SI
	JZ   done
	MOVQ 8(SI), AX
	MOVQ AX, (DI)
	MOVQ (SI), SI
	ADDQ $8, DI
	DECQ CX
	JNZ  next
done:
	RET
