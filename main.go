// Command krmcat publishes, views and runs KRM functions from catalogs.
package main

import (
	"os"

	"github.com/krmcat/krmcat/internal/cli"
	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/shim"
)

// officialCatalog is searched first and trusted without a flag. It is empty unless the builder sets
// it: make build OFFICIAL_CATALOG=oci://…
var officialCatalog string //nolint:gochecknoglobals // set by the linker

// machineDir is the absolute path of the directory with the policy of a machine. If it is empty
// krmcat uses the system's own directory, such as /etc/krmcat. A builder can set it: make build
// MACHINE_DIR=/opt/etc/krmcat. Nothing changes it at run time.
var machineDir string //nolint:gochecknoglobals // set by the linker

func main() {
	helm.Leave(os.Args) // if kustomize started it as helm
	shim.Leave(os.Args) // if package sandbox started it inside a sandbox
	os.Exit(cli.Run(cli.Build{Official: officialCatalog, MachineDir: machineDir, Judge: judges()}, os.Exit))
}
