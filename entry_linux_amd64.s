//go:build krmcat_joined

#include "textflag.h"

// krmcat_entry is where a process of a krmcat begins that command join has made: argv[0], its
// name, says which of the programs in the file it goes on as. It comes before all of Go, so that
// none initialises another (docs/adr/0027). Each part has an address of its own, where its header
// tells where it begins. What has no name of a part is krmcat.

// The names of package main of verify/cosign/judge/program, and of packages shim and helm.
DATA judgeName<>+0(SB)/8, $"krmcat-j"
DATA judgeName<>+8(SB)/4, $"udge"
GLOBL judgeName<>(SB), RODATA|NOPTR, $12

DATA shimName<>+0(SB)/8, $"krmcat-s"
DATA shimName<>+8(SB)/3, $"him"
GLOBL shimName<>(SB), RODATA|NOPTR, $11

DATA heldName<>+0(SB)/8, $"/proc/se"
DATA heldName<>+8(SB)/6, $"lf/fd/"
DATA heldName<>+14(SB)/1, $"3"
GLOBL heldName<>(SB), RODATA|NOPTR, $15

DATA helmName<>+0(SB)/8, $"/krmcat."
DATA helmName<>+8(SB)/8, $"dev/v1al"
DATA helmName<>+16(SB)/8, $"pha1/hel"
DATA helmName<>+24(SB)/6, $"m/helm"
GLOBL helmName<>(SB), RODATA|NOPTR, $30

// entryOffset is where the header of an ELF file tells where it begins.
#define entryOffset 0x18
#define judgeHeader 0x40000000
#define stageHeader 0x50000000

// ends goes to a place where argv[0], which ends at R9 and has R8 bytes, ends in a name.
#define ends(name, length, skip) \
	CMPQ R8, $length \
	JLT  skip \
	MOVQ $length, CX \
	MOVQ R9, DI \
	SUBQ CX, DI \
	LEAQ name<>(SB), SI \
	CLD \
	REP \
	CMPSB \
	JNE  skip

// is does so where it is that name.
#define is(name, length, skip) \
	CMPQ R8, $length \
	JNE  skip \
	ends(name, length, skip)

TEXT krmcat_entry(SB),NOSPLIT,$-8
	MOVQ  8(SP), R9 // argv[0]
	TESTQ R9, R9
	JZ    krmcat
	XORQ  R8, R8

count:
	CMPB (R9), $0
	JEQ  counted
	INCQ R9
	INCQ R8
	JMP  count

counted:
	is(judgeName, 12, notJudge)
	MOVQ $judgeHeader, AX
	JMP  part

notJudge:
	is(shimName, 11, notShim)
	JMP stage

notShim:
	is(heldName, 15, notHeld)
	JMP stage

notHeld:
	ends(helmName, 30, krmcat)

stage:
	MOVQ $stageHeader, AX

part:
	MOVQ entryOffset(AX), AX
	JMP  AX

krmcat:
	JMP _rt0_amd64_linux(SB)
