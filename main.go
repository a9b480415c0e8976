// Command krmcat publishes, views and runs KRM functions from catalogs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/krmcat/krmcat/internal/cli"
	"github.com/krmcat/krmcat/target"
)

// officialCatalog is searched first and trusted without a flag. It is empty unless the
// builder sets it: make build OFFICIAL_CATALOG=oci://…
var officialCatalog string //nolint:gochecknoglobals // set by the linker

func main() { os.Exit(run()) }

// run is everything but the exit. Kustomize calls krmcat back for a Step under another
// name: that comes first, so that nothing of a command happens there.
func run() int {
	if target.IsStep(os.Args) {
		return step()
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup stays nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		signal.Stop(signals) // a second one kills
		cancel(cli.ErrInterrupted)
	}()
	p := cli.OS()
	p.Official = officialCatalog
	cli.TuneGC(p)
	return cli.Main(ctx, p)
}

// step is the process that kustomize started. It outlives an interrupt: the render that
// it answers to decides when to stop.
func step() int {
	signal.Ignore(os.Interrupt)
	if err := target.RunStep(os.Args, os.Stdin, os.Stdout); err != nil {
		return 1 // the render knows why, and says it
	}
	return 0
}
