//go:build krmcat_joined

#include "textflag.h"

// krmcat_entry is where a process of a krmcat begins that command join has made: it goes on as
// the part that judges signatures if that is its name, argv[0], and else as krmcat. It comes
// before all of Go, so that neither initialises the other (docs/adr/0027). The part is linked
// at 0x40000000, where its header tells where it begins.
TEXT krmcat_entry(SB),NOSPLIT,$-8
	MOVQ 8(SP), AX // argv[0]
	TESTQ AX, AX
	JZ krmcat
	MOVQ $0x6a2d7461636d726b, CX // krmcat-j
	CMPQ CX, 0(AX)
	JNE krmcat
	CMPL 8(AX), $0x65676475 // udge
	JNE krmcat
	CMPB 12(AX), $0
	JNE krmcat
	MOVQ $0x40000018, AX // e_entry
	MOVQ 0(AX), AX
	JMP AX
krmcat:
	JMP _rt0_amd64_linux(SB)
