package main

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
)

func TestInputsAreReproducible(t *testing.T) {
	t.Parallel()
	for _, in := range []input{
		{resources: 7}, {resources: 3, functions: 2}, {resources: 3, functions: 2, starlark: true},
		{resources: 3, functions: 2, composition: true}, {resources: 3, functions: 2, starlark: true, composition: true},
	} {
		if diff := cmp.Diff(in.files(), in.files()); diff != "" {
			t.Error(diff)
		}
		if got := bytes.Count(in.files()["resources.yaml"], []byte("\nkind:")); got != in.resources {
			t.Errorf("got %d resources, want %d", got, in.resources)
		}
		root := "kustomization.yaml"
		if in.composition {
			root = "composition.yaml"
		}
		if got := strings.Count(string(in.files()[root]), "- fn-"); got != in.functions {
			t.Errorf("got %d functions, want %d", got, in.functions)
		}
	}
	if !bytes.Equal(generate(20), generate(20)) {
		t.Error("two catalogs of the same size differ")
	}
	c, err := catalog.Decode("catalog.yaml", generate(20))
	if err != nil || len(c.Functions) != 20 {
		t.Errorf("the catalog has %v, want 20 functions: %v", c, err)
	}
}

// TestTheListHoldsTheResources checks that kyaml reads the same list that krmcat passes to the
// functions.
func TestTheListHoldsTheResources(t *testing.T) {
	t.Parallel()
	in := input{resources: 4, functions: 1, composition: true}
	list, err := fnexec.Decode(in.files()[listFile])
	if err != nil {
		t.Fatal(err)
	}
	docs, err := fnexec.Decode(in.files()["resources.yaml"])
	if err != nil {
		t.Fatal(err)
	}
	if list.FunctionConfig == nil || len(list.Items) != in.resources {
		t.Errorf("%d items, functionConfig %v", len(list.Items), list.FunctionConfig)
	}
	for i, item := range list.Items {
		if diff := cmp.Diff(docs.Items[i].MustString(), item.MustString()); diff != "" {
			t.Errorf("items[%d]: %s", i, diff)
		}
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, test := range []struct {
		c            comparison
		ours, theirs time.Duration
		missed       bool
	}{
		{comparison{faster: 2}, 10 * ms, 20 * ms, false},
		{comparison{faster: 2}, 10 * ms, 19 * ms, true},
		{comparison{within: 1.05}, 105 * ms, 100 * ms, false},
		{comparison{within: 1.05}, 106 * ms, 100 * ms, true},
	} {
		if got := test.c.row(test.ours, test.theirs); got.missed != test.missed {
			t.Errorf("%v compared with %v, %+v: missed is %t", test.ours, test.theirs, test.c, got.missed)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   []time.Duration
		want time.Duration
	}{
		{[]time.Duration{5}, 5},
		{[]time.Duration{9, 1, 5}, 5},
		{[]time.Duration{9, 1, 5, 7}, 6},
	} {
		if got := median(test.in); got != test.want {
			t.Errorf("the median of %v is %v, want %v", test.in, got, test.want)
		}
	}
}

// TestPrintingOtherBytesIsAnError checks that programs with different output are not compared.
func TestPrintingOtherBytesIsAnError(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("echo is a builtin of the shell on Windows")
	}
	echo := func(s string) program { return program{dir: t.TempDir(), argv: []string{"echo", s}} }
	if err := alike(t.Context(), echo("a"), echo("a")); err != nil {
		t.Error(err)
	}
	if err := alike(t.Context(), echo("a"), echo("b")); !errors.Is(err, errDiffer) {
		t.Errorf("got %v", err)
	}
	if err := alike(t.Context(), echo("a"), program{dir: t.TempDir(), argv: []string{"false"}}); err == nil {
		t.Error("a program that fails is accepted")
	}
}
