package container_test

import (
	"os"
	"testing"

	"github.com/krmcat/krmcat/internal/shim"
	"github.com/krmcat/krmcat/internal/step"
)

// TestMain makes this program a Step or a stage when it is started as one.
func TestMain(m *testing.M) {
	step.Leave(os.Args)
	shim.Leave(os.Args)
	os.Exit(m.Run())
}
