package tamper

import (
	"testing"

	"github.com/krmcat/krmcat/e2e/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, nil) }
