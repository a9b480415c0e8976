// Command krmcat publishes, views and runs KRM functions from catalogs.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/krmcat/krmcat/internal/cli"
)

// officialCatalog is searched first and trusted without a flag. It is empty unless the
// builder sets it: make build OFFICIAL_CATALOG=oci://…
var officialCatalog string //nolint:gochecknoglobals // set by the linker

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
