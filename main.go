// Command krmcat publishes, views and runs KRM functions from catalogs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/krmcat/krmcat/internal/cli"
)

// officialCatalog is searched first and trusted without a flag. It is empty unless the
// builder sets it: make build OFFICIAL_CATALOG=oci://…
var officialCatalog string //nolint:gochecknoglobals // set by the linker

// machineDir is where the policy of a machine stands, absolute. The system's own place, such as
// /etc/krmcat, unless the builder sets another: make build MACHINE_DIR=/opt/etc/krmcat. Nothing at
// run time changes it.
var machineDir string //nolint:gochecknoglobals // set by the linker

func main() { os.Exit(run()) }

// run is everything but the exit. A process that kustomize started for a Step never gets
// here: see package step.
func run() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup stays nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	p := cli.OS()
	p.Leave = &cli.Leaver{}
	go func() {
		<-signals
		signal.Stop(signals) // a second one kills
		cancel(cli.ErrInterrupted)
		time.AfterFunc(leaveAfter, func() { p.Leave.When(leave) })
	}()
	p.Official = officialCatalog
	if machineDir != "" {
		p.MachineDir, p.NoMachineDir = machineDir, nil
	}
	cli.TuneGC(p)
	return cli.Main(ctx, p)
}

// leaveAfter is how long a command may take to end by itself.
const leaveAfter = 400 * time.Millisecond

// leave ends the process as an interrupt does. Who reads its stderr may be as busy as who does
// not read its stdout.
func leave() {
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = os.Stderr.WriteString("Error: " + cli.ErrInterrupted.Error() + "\n")
	}()
	select {
	case <-said:
	case <-time.After(leaveAfter / 5):
	}
	os.Exit(cli.CodeInterrupted)
}
