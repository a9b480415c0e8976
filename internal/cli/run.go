package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/krmcat/krmcat/verify/cosign"
)

// Build is what a builder of krmcat may set, and nothing at run time changes.
type Build struct {
	Official   string // the catalog that is searched first and trusted without a flag, "" for none
	MachineDir string // the absolute directory of the machine's policy; "" for the system's own
	// Judge starts what judges signatures, and makes them. Nil where nothing does.
	Judge cosign.Dial
}

// Run runs krmcat as the operating system started it, and returns the exit code. end ends the
// process: it is called where a command takes too long to end after a signal.
func Run(b Build, end func(code int)) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup stays nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	p := OS()
	p.Leave = &Leaver{}
	go func() {
		<-signals
		signal.Stop(signals) // a second one kills
		cancel(ErrInterrupted)
		time.AfterFunc(leaveAfter, func() {
			p.Leave.When(func() {
				sayInterrupted()
				end(CodeInterrupted)
			})
		})
	}()
	p.Official, p.Judge = b.Official, b.Judge
	if b.MachineDir != "" {
		p.MachineDir, p.NoMachineDir = b.MachineDir, nil
	}
	TuneGC(p)
	return Main(ctx, p)
}

// leaveAfter is how long a command may take to end by itself.
const leaveAfter = 400 * time.Millisecond

// sayInterrupted says what ends the process. Who reads its stderr may be as busy as who does
// not read its stdout.
func sayInterrupted() {
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = os.Stderr.WriteString("Error: " + ErrInterrupted.Error() + "\n")
	}()
	select {
	case <-said:
	case <-time.After(leaveAfter / 5):
	}
}
