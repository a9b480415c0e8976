package sandbox_test

import (
	"bufio"
	"io"
	"testing"

	"github.com/krmcat/krmcat/sandbox"
)

// TestPart checks that a part is this program by another name, has only its two streams, and
// ends when the connection is closed.
func TestPart(t *testing.T) {
	t.Parallel()
	p, err := sandbox.StartPart(asPart)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(p)
	if line, err := in.ReadString('\n'); err != nil || line != "["+asPart+"] 0 [] /\n" {
		t.Errorf("it has %q, %v", line, err)
	}
	if _, err := io.WriteString(p, "told\n"); err != nil {
		t.Error(err)
	}
	if line, err := in.ReadString('\n'); err != nil || line != "told\n" {
		t.Errorf("%q, %v", line, err)
	}
	for range 2 {
		if err := p.Close(); err != nil { // waits for its end
			t.Error(err)
		}
	}
	if _, err := io.WriteString(p, "more"); err == nil {
		t.Error("it is closed, and takes more")
	}
}
