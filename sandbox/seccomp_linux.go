package sandbox

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data, and results of a filter: seccomp(2).
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
	argSize   = 8

	retAllow = 0x7fff0000
	retErrno = 0x00050000

	// newest is the highest system call that was reviewed for this filter.
	newest = 466
)

// seccomp returns the filter for a confined process, as struct sock_filter[] in native byte
// order. It is nil on a processor without a filter, where the other restrictions apply. d is
// denied in addition to what every process is denied.
func seccomp(d denied) ([]byte, error) {
	numbers := syscallNumbers()
	if numbers == nil {
		return nil, nil
	}
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		refuse(unix.ENOSYS), // the calls of another architecture have other numbers
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: newest, SkipTrue: 1},
		refuse(unix.ENOSYS), // those of x32, and newer ones
	}
	for _, name := range slices.Concat(deniedSyscalls(), d.names) {
		if n, ok := numbers[name]; ok {
			p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: n, SkipTrue: 1}, refuse(unix.EPERM))
		}
	}
	p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: numbers[notThere], SkipTrue: 1}, refuse(unix.ENOSYS))
	for _, c := range slices.Concat(deniedCalls(), d.calls) {
		if n, ok := numbers[c.name]; ok {
			p = append(p, onCall(n, c)...)
		}
	}
	raw, err := bpf.Assemble(append(p, bpf.RetConstant{Val: retAllow}))
	if err != nil {
		return nil, fmt.Errorf("the filter of system calls: %w", err)
	}
	var out []byte
	for _, i := range raw {
		out = binary.NativeEndian.AppendUint16(out, i.Op)
		out = append(out, i.Jt, i.Jf)
		out = binary.NativeEndian.AppendUint32(out, i.K)
	}
	return out, nil
}

// deniedUnix denies Unix sockets. Stream pairs are allowed, since they are connected for good.
// Datagram pairs are not: each message can name another address.
func deniedUnix() []deniedCall {
	const kind = 0xf // the type of a socket, without its flags
	return []deniedCall{
		{name: "socket", mask: low, value: unix.AF_UNIX},
		{name: "socketpair", arg: 1, mask: kind, value: unix.SOCK_DGRAM},
		{name: "socketpair", arg: 1, mask: kind, value: unix.SOCK_RAW}, // the kernel makes a datagram pair
	}
}

func refuse(e unix.Errno) bpf.Instruction { return bpf.RetConstant{Val: retErrno | uint32(e)} }

// onCall denies a call by one of its arguments. The accumulator holds the number of the call,
// before and after.
func onCall(number uint32, c deniedCall) []bpf.Instruction {
	allowed := bpf.JumpNotEqual
	if c.other {
		allowed = bpf.JumpEqual
	}
	body := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArgs + argSize*uint32(c.arg), Size: 4}, // the lower half: little-endian
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: uint32(c.mask)},
		bpf.JumpIf{Cond: allowed, Val: uint32(c.value), SkipTrue: 1},
		refuse(unix.EPERM),
		bpf.LoadAbsolute{Off: offNumber, Size: 4},
	}
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(body))}}, body...)
}
