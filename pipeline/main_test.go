package pipeline_test

import (
	"os"
	"testing"

	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/shim"
)

// TestMain has this program be what krmcat is where kustomize or a sandbox starts it.
func TestMain(m *testing.M) {
	helm.Leave(os.Args)
	shim.Leave(os.Args)
	os.Exit(m.Run())
}
