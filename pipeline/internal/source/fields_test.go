package source_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// TestManyStrangers: of very many unknown fields the first are told, and how many more there are.
func TestManyStrangers(t *testing.T) {
	t.Parallel()
	docs, err := source.ParseDocuments("f.yaml", []byte(strings.Repeat("- {pth: x, other: y}\n", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Path string `json:"path"`
	}
	lines := strings.Split(docs[0].Strangers(reflect.TypeFor[[]entry](), true).Error(), "\n")
	if len(lines) != 21 || lines[0] != `f.yaml:1: unknown field "pth" of [0], did you mean "path"?` || lines[20] != "f.yaml: and 1980 more" {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}

// TestManyRepeated: so it is with fields that are written again.
func TestManyRepeated(t *testing.T) {
	t.Parallel()
	var warned []source.Warning
	r := source.NewReader(nil, source.Options{Warn: func(w source.Warning) { warned = append(warned, w) }})
	if _, err := r.FirstDocument("k.yaml", []byte(strings.Repeat("a: 1\n", 1000))); err != nil {
		t.Fatal(err)
	}
	if n := len(warned); n != 21 || warned[0].Where != "k.yaml:2" || !strings.HasPrefix(warned[20].Msg, "and 979 more") {
		t.Errorf("%d warnings: %+v", n, warned)
	}
}
