package cli

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/failure"
)

// TestErrorFieldsAreWritten checks that the page has all fields and kinds of an error as JSON.
func TestErrorFieldsAreWritten(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Errors as JSON")
	want := []string{}
	for f := range reflect.TypeFor[errorView]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want = append(want, name)
	}
	for _, k := range []failure.Kind{
		failure.Usage, failure.Function, failure.Untrusted, failure.NotPermitted, failure.NotFound, failure.Unreachable, failure.Unexpected, interrupted,
	} {
		want = append(want, string(k))
	}
	for _, name := range want {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("docs/commands.md does not have `%s`", name)
		}
	}
}
