// Command krmcat publishes, views and runs KRM functions from catalogs.
package main

import (
	"os"

	"github.com/krmcat/krmcat/internal/cli"
	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/shim"
)

// officialCatalog is searched first and trusted without a flag. It is empty unless the
// builder sets it: make build OFFICIAL_CATALOG=oci://…
var officialCatalog string //nolint:gochecknoglobals // set by the linker

// machineDir is where the policy of a machine stands, absolute. The system's own place, such as
// /etc/krmcat, unless the builder sets another: make build MACHINE_DIR=/opt/etc/krmcat. Nothing at
// run time changes it.
var machineDir string //nolint:gochecknoglobals // set by the linker

func main() {
	helm.Leave(os.Args) // kustomize has started it as helm
	shim.Leave(os.Args) // or package sandbox has, inside a sandbox
	os.Exit(cli.Run(cli.Build{Official: officialCatalog, MachineDir: machineDir, Judge: judges()}, os.Exit))
}
