// Command krmcat publishes, views and runs KRM functions from catalogs.
package main

import (
	"os"

	"github.com/krmcat/krmcat/internal/cli"
)

// officialCatalog is searched first and trusted without a flag. It is empty unless the
// builder sets it: make build OFFICIAL_CATALOG=oci://…
var officialCatalog string //nolint:gochecknoglobals // set by the linker

// machineDir is where the policy of a machine stands, absolute. The system's own place, such as
// /etc/krmcat, unless the builder sets another: make build MACHINE_DIR=/opt/etc/krmcat. Nothing at
// run time changes it.
var machineDir string //nolint:gochecknoglobals // set by the linker

// A process that kustomize started for a Step never gets here: see package step.
func main() {
	os.Exit(cli.Run(cli.Build{Official: officialCatalog, MachineDir: machineDir, Judge: judges()}, os.Exit))
}
