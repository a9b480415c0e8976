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

// program is what is started as a stage of package shim. It is started by its open file and
// not by its path, which inside a sandbox leads nowhere.
type program struct {
	file  *os.File
	small bool // it is that of package built, in memory
	err   error
}

// findProgram takes the small program, which starts in half the time, or where this build
// has none, or the system keeps no programs in memory, the one at a path.
func findProgram(self string) *program {
	if data := built.Program(); data != nil {
		// Nobody can change it, not even we: a confined process that finds it could not.
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

// openProgram is the program at a path, which need not be readable.
func openProgram(path string) *program {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &program{err: &os.PathError{Op: "open", Path: path, Err: err}}
	}
	return &program{file: os.NewFile(uintptr(fd), path)}
}

// whole are the options of a machine on which stages are started from krmcat and not from
// the small program. There are none where that is so already.
func (o HostOptions) whole() (HostOptions, bool) {
	if !o.program().small {
		return o, false
	}
	o.program = sync.OnceValue(func() *program { return openProgram(o.Self) })
	return o, true
}

// runs reports whether the program does, outside of any sandbox.
func (p *program) runs(ctx context.Context) bool {
	return stageCommand(ctx, p, shim.NothingStage).Run() == nil
}

// stageCommand starts a stage by its name and its arguments.
func stageCommand(ctx context.Context, p *program, args ...string) *exec.Cmd {
	cmd := command(ctx, shim.ProgramPath, args...)
	cmd.Args[0] = shim.Name
	cmd.ExtraFiles = []*os.File{p.file} // shim.ProgramFD
	if p.err != nil {
		cmd.Err = p.err
	}
	return cmd
}

// stage is the process inside which becomes the job: package shim.
type stage struct {
	engine       Engine
	spec, status *os.File // our ends
	theirs       *os.File
	group        *group // nil for none
	first        bool   // it tells how the job ended
	said         []byte // what it wrote, once await has read it
	heard        bool   // await has
}

// newStage writes down what the process inside has to do. The command, which has the program
// already, gets the files that it reads from, reports to, and joins its group by.
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

// memory is a file that holds data and is nowhere. A pipe would have to be fed. The flags
// say whether it can be run.
func memory(name string, data io.Reader, flags int) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|flags)
	if errors.Is(err, syscall.EINVAL) { // before Linux 6.3 all that is in memory can be run
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

// maxStatus is more than a stage has to say, in bytes, and statusWait longer than it may
// take to say it once its process has ended.
const (
	maxStatus  = 4 << 10
	statusWait = time.Second
)

// await implements overseer. Only the stage has the other end of what is read: it ends at the
// latest when that does.
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

// dismiss implements overseer.
func (s *stage) dismiss() {
	_ = s.status.Close()
	s.status = nil
}

// settle is prepared.settle: it tells an engine that failed from a job that did.
func (s *stage) settle(err error) error {
	if !s.heard {
		_ = s.status.SetReadDeadline(time.Now().Add(statusWait)) // who was left behind may hold it
		s.await()
	}
	starved := s.group != nil && s.group.starved()
	_ = s.close()
	rest, ready := strings.CutPrefix(string(s.said), shim.Ready)
	how, number := ending(rest)
	switch {
	case !ready && starved: // how the stage was ended is not how the job was
		return &EngineError{Engine: s.engine, Err: &StarvedError{}}
	case !ready && rest == "" && err == nil:
		return &EngineError{Engine: s.engine, Err: errors.New("it ended before the function was started")}
	case !ready && rest == "":
		return &EngineError{Engine: s.engine, Err: err}
	case !ready || how == "" && rest != "":
		return &EngineError{Engine: s.engine, Err: stageError(rest)}
	case s.first:
		err = s.ended(how, number, err)
	}
	if starved {
		return &StarvedError{Err: err}
	}
	return err
}

// ended is what became of a job by the word of the process above it, and not by how that one
// or an engine's ended. Without such a word the job was ended together with it, and so did
// not end well.
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
	case exit.Code > signaled: // bwrap's word for a signal
		return &EndedError{Code: -1, Signal: syscall.Signal(exit.Code - signaled)}
	}
	return &EngineError{Engine: s.engine, Err: err}
}

// signaled and a signal are the exit code of a program for another that the signal ended.
const signaled = 128

// ending reads how a job ended, "" where that is not what is said.
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

// stageError reads what a stage wrote.
func stageError(said string) error {
	text, number, _ := strings.Cut(said, shim.ErrnoMark)
	if n, err := strconv.ParseUint(number, 10, 12); err == nil && n > 0 {
		return &systemError{text, syscall.Errno(n)}
	}
	return errors.New(text)
}
