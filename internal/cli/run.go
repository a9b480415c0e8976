package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/krmcat/krmcat/verify/cosign"
)

// Build has the settings of a build of krmcat. Nothing changes them at run time.
type Build struct {
	Official   string // the catalog that is searched first and trusted without a flag; "" for none
	MachineDir string // the absolute directory of the machine's policy; "" for the system's own
	// Judge starts the process that judges and makes signatures; nil if there is none.
	Judge cosign.Dial
}

// Run runs krmcat as the operating system started it, and returns the exit code. end ends the
// process. It is called if a command takes too long to end after a signal.
func Run(b Build, end func(code int)) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // an ignored SIGHUP stays ignored, as with nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	p := OS()
	p.Leave = &Leaver{}
	go func() {
		<-signals
		signal.Stop(signals) // a second signal kills the process
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

// leaveAfter limits the time that a command takes to end after a signal.
const leaveAfter = 400 * time.Millisecond

// sayInterrupted writes why the process ends. It does not wait for a reader of stderr that does not
// read.
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
