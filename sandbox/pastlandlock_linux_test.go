package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/shim"
)

// TestPastLandlock checks that the filter denies what an old Landlock does not restrict. It uses
// the filter alone, and files that every user may write to.
func TestPastLandlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	names, calls := pastLandlock(1)
	if numbers := syscallNumbers(); numbers["openat"] == 0 || numbers["openat2"] == 0 || numbers["truncate"] == 0 {
		t.Fatal("the filter does not know these calls")
	}
	filter, err := seccomp(denied{names, calls})
	if err != nil {
		t.Fatal(err)
	}
	needs(t, "perl")
	opened := `perl -MFcntl -e 'sysopen(my $f, shift, O_RDONLY|O_TRUNC) or die $!' ` + file
	neither := `perl -MFcntl -e 'sysopen(my $f, shift, O_ACCMODE|O_TRUNC) or die $!' ` + file
	named := `perl -e 'truncate(shift, 0) or die $!' ` + file
	for _, c := range []struct {
		what, line string
		filter     []byte
		left       string // the content of the file afterwards
	}{
		{"truncated by an open for reading", opened, filter, "text"},
		{"truncated by an open for reading, without the filter", opened, nil, ""},
		{"truncated by an open for neither reading nor writing", neither, filter, "text"},
		{"truncated by an open for neither reading nor writing, without the filter", neither, nil, ""},
		{"truncated by path", named, filter, "text"},
		{"truncated by path, without the filter", named, nil, ""},
		{"written, which Landlock restricts", "echo more >" + file, filter, "more\n"},
	} {
		if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := stageCommand(t.Context(), openProgram(enginetest.Self(t)), shim.ConfineStage)
		st, err := newStage(Landlocked, cmd, shim.Spec{
			Memory: DefaultMemory, Seccomp: c.filter, Path: "/bin/sh", Args: []string{"sh", "-c", c.line}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/",
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		cmd.Stderr = &said
		err = st.settle(cmd.Run())
		if got, _ := os.ReadFile(file); string(got) != c.left || (err == nil) != (c.left != "text") {
			t.Errorf("%s: got %q, %v, %s", c.what, got, err, &said)
		}
	}
}
