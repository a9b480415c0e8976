package render_test

import (
	"os"
	"testing"

	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/shim"
)

// TestMain lets the test binary act as krmcat when kustomize or a sandbox starts it.
func TestMain(m *testing.M) {
	helm.Leave(os.Args)
	shim.Leave(os.Args)
	os.Exit(m.Run())
}
