package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/krmcat/krmcat/internal/shim"
	"github.com/krmcat/krmcat/internal/shim/built"
)

// program is started as a stage of package shim. It is started by its open file, since its
// path may not exist inside a sandbox.
type program struct {
	file  *os.File
	small bool // the program of package built, in memory
	err   error
}

// findProgram returns the small stage program, which starts in half the time. It returns the
// program at self if this build has no small one, or the kernel cannot start one from memory.
func findProgram(self string) *program {
	if data := built.Program(); data != nil {
		// Sealed, so that no confined process that finds the file can change it.
		const sealed = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
		f, err := memory("krmcat-stage", data, unix.MFD_EXEC|unix.MFD_ALLOW_SEALING)
		if err == nil {
			_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, sealed)
		}
		if err == nil {
			return &program{file: f, small: true}
		}
	}
	return openProgram(self)
}

// openProgram returns the program at a path. It need not be readable.
func openProgram(path string) *program {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &program{err: &os.PathError{Op: "open", Path: path, Err: err}}
	}
	return &program{file: os.NewFile(uintptr(fd), path)}
}

// whole returns options that start krmcat itself as the stage; false if o does so already.
func (o HostOptions) whole() (HostOptions, bool) {
	if !o.program().small {
		return o, false
	}
	o.program = sync.OnceValue(func() *program { return openProgram(o.Self) })
	return o, true
}

// runs reports whether the program starts outside of a sandbox.
func (p *program) runs(ctx context.Context) bool {
	return stageCommand(ctx, p, shim.NothingStage).Run() == nil
}

// stageCommand makes a process of a stage, by its name and arguments.
func stageCommand(ctx context.Context, p *program, args ...string) *exec.Cmd {
	cmd := command(ctx, shim.ProgramPath, args...)
	cmd.Args[0] = shim.Name
	cmd.ExtraFiles = []*os.File{p.file} // shim.ProgramFD
	if p.err != nil {
		cmd.Err = p.err
	}
	return cmd
}

// stage is the process in the sandbox that becomes the job or starts it (package shim).
type stage struct {
	engine       Engine
	spec, status *os.File // this process's ends
	theirs       *os.File // the stage's end of status
	group        *group   // nil for none
	first        bool     // it reports how the job ended
	said         []byte   // what it wrote to status, once await has returned
	heard        bool     // await was called
}

// newStage writes the spec for the stage, and adds the files of the stage to cmd: the spec, the
// status, and the files of its control group. cmd has the file of the program already.
func newStage(w Engine, cmd *exec.Cmd, s shim.Spec, g *group) (_ *stage, err error) {
	st := &stage{engine: w, group: g, first: s.First}
	var procs []*os.File
	if g != nil {
		procs = g.procs
	}
	for i := range procs {
		s.Groups = append(s.Groups, shim.StatusFD+1+i)
	}
	data, err := s.Encode()
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	if st.spec, err = memory("spec", bytes.NewReader(data), unix.MFD_NOEXEC_SEAL); err != nil {
		return nil, errors.Join(err, st.close())
	}
	if st.status, st.theirs, err = os.Pipe(); err != nil {
		return nil, errors.Join(err, st.close())
	}
	cmd.ExtraFiles = append(append(cmd.ExtraFiles, st.spec, st.theirs), procs...) // shim.SpecFD and shim.StatusFD
	return st, nil
}

// memory returns an anonymous file in memory that holds data. Unlike a pipe, nobody has to
// write to it while it is read. The flags say whether it can be executed.
func memory(name string, data io.Reader, flags int) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|flags)
	if errors.Is(err, syscall.EINVAL) { // before Linux 6.3 every such file can be executed
		flags &^= unix.MFD_EXEC | unix.MFD_NOEXEC_SEAL
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|flags)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = io.Copy(f, data)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (s *stage) close() error {
	var errs []error
	for _, f := range []*os.File{s.spec, s.status, s.theirs} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	s.group.close()
	return errors.Join(errs...)
}

// maxStatus is more than a stage writes, in bytes. statusWait is longer than a stage that has
// ended takes to deliver it.
const (
	maxStatus  = 4 << 10
	statusWait = time.Second
)

// await implements supervisor. Only the stage holds the other end of status, so that reading
// ends with the stage at the latest.
func (s *stage) await() {
	s.heard = true
	_ = s.theirs.Close()
	s.theirs = nil
	from := io.LimitReader(s.status, maxStatus)
	for piece := make([]byte, maxStatus); ; {
		n, err := from.Read(piece)
		s.said = append(s.said, piece[:n]...)
		if how, _ := ending(strings.TrimPrefix(string(s.said), shim.Ready)); how != "" || err != nil {
			return
		}
	}
}

// dismiss implements supervisor.
func (s *stage) dismiss() {
	_ = s.status.Close()
	s.status = nil
}

// settle is prepared.settle. It distinguishes a failed engine from a failed job.
func (s *stage) settle(err error) error {
	if !s.heard {
		_ = s.status.SetReadDeadline(time.Now().Add(statusWait)) // a process that was left may hold it
		s.await()
	}
	starved := s.group != nil && s.group.starved()
	_ = s.close()
	rest, ready := strings.CutPrefix(string(s.said), shim.Ready)
	how, number := ending(rest)
	switch {
	case !ready && starved: // the exit code of the stage says nothing about the job
		return &EngineError{Engine: s.engine, Err: &OutOfMemoryError{}}
	case !ready && rest == "" && err == nil:
		return &EngineError{Engine: s.engine, Err: errors.New("it ended before the function was started"), early: true}
	case !ready && rest == "":
		return &EngineError{Engine: s.engine, Err: err, early: true}
	case !ready || how == "" && rest != "":
		return &EngineError{Engine: s.engine, Err: stageError(rest), early: !ready}
	case s.first:
		err = s.ended(how, number, err)
	}
	if starved {
		return &OutOfMemoryError{Err: err}
	}
	return err
}

// ended returns the result of the job as the process above it reported, whatever the exit code
// of that process. Without a report the job was ended together with that process, which is
// never a success.
func (s *stage) ended(how string, number int, err error) error {
	var exit *EndedError
	switch {
	case how == shim.Signaled:
		return &EndedError{Code: -1, Signal: syscall.Signal(number)}
	case how == shim.Exited && number != 0:
		return &EndedError{Code: number}
	case how == shim.Exited:
		return err
	case err == nil:
		return &EngineError{Engine: s.engine, Err: errors.New("it ended without reporting how the function ended")}
	case !errors.As(err, &exit) || exit.Signal != 0:
		return err
	case exit.Code > signaled: // how bwrap reports a signal
		return &EndedError{Code: -1, Signal: syscall.Signal(exit.Code - signaled)}
	}
	return &EngineError{Engine: s.engine, Err: err}
}

// signaled plus a signal's number is the exit code for a process that the signal ended.
const signaled = 128

// ending parses the report of how a job ended; "" if there is none.
func ending(said string) (how string, number int) {
	for _, how := range []string{shim.Exited, shim.Signaled} {
		rest, ok := strings.CutPrefix(said, how)
		digits, whole := strings.CutSuffix(rest, "\n")
		if n, err := strconv.Atoi(digits); ok && whole && err == nil {
			return how, n
		}
	}
	return "", 0
}

// stageError parses the error that a stage wrote.
func stageError(said string) error {
	text, number, _ := strings.Cut(said, shim.ErrnoMark)
	if n, err := strconv.ParseUint(number, 10, 12); err == nil && n > 0 {
		return &systemError{text, syscall.Errno(n)}
	}
	return errors.New(text)
}
