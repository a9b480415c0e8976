package container_test

import (
	"os"
	"testing"

	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/shim"
)

// TestMain makes this program a Step or a stage when it is started as one.
func TestMain(m *testing.M) {
	helm.Leave(os.Args)
	shim.Leave(os.Args)
	os.Exit(m.Run())
}
