#include "textflag.h"

// func getuid32() int32: getuid by the entry of 32-bit programs.
TEXT ·getuid32(SB), NOSPLIT, $0-4
	MOVL $24, AX
	INT  $0x80
	MOVL AX, ret+0(FP)
	RET
