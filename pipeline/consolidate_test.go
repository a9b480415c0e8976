package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/pipeline"
)

// dice makes Compositions of the bytes of a fuzzer.
type dice struct{ bytes []byte }

// roll gives a number below n; 0 where the bytes are used up.
func (d *dice) roll(n int) int {
	if len(d.bytes) == 0 || n <= 0 {
		return 0
	}
	b := d.bytes[0]
	d.bytes = d.bytes[1:]
	return int(b) % n
}

// tree is some Compositions that import each other, the first of which is the root.
type tree struct {
	fsys  filesys.FileSystem
	files []made
}

// made is one of them, as it was made.
type made struct {
	before, after [][]string // what each import brings, in its order
	own           []string
	order         []string
	fine          bool // nothing wrong was put in on purpose
}

// dirOf is where a Composition of a tree lies.
func dirOf(i int) string {
	if i == 0 {
		return "/t"
	}
	return fmt.Sprintf("/t/f%d", i)
}

// lists gives the transformers of a Composition in order; none where it is refused.
func (tr *tree) list(i int) []string {
	c, err := pipeline.Consolidate(context.Background(), tr.fsys, dirOf(i), pipeline.Options{})
	if err != nil {
		return nil
	}
	var names []string
	for _, one := range c.Transformers {
		names = append(names, one.Name)
	}
	return names
}

// entry writes a transformer of a name, which says what it is.
func entry(name, value string) string {
	if strings.HasPrefix(name, "p") {
		return fmt.Sprintf("- {apiVersion: builtin, kind: PrefixTransformer, metadata: {name: %s}, prefix: %s}\n", name, value)
	}
	return fmt.Sprintf("- {apiVersion: x/v1, kind: Say, metadata: {name: %s}, spec: {value: %s, list: [{name: %s}]}}\n", name, value, value)
}

// grow makes a tree, from its leaves to its root: what is imported is known then, and
// overrides and orders can be right. Some are wrong on purpose.
func grow(d *dice) *tree {
	tr := &tree{fsys: filesys.MakeFsInMemory()}
	n := 2 + d.roll(6)
	tr.files = make([]made, n)
	for i := n - 1; i >= 0; i-- {
		m := &tr.files[i]
		m.fine = true
		text := "kind: Composition\n" + tr.imports(d, i)
		var imported []string
		for _, list := range append(slices.Clone(m.before), m.after...) {
			imported = append(imported, list...)
		}
		for k := range d.roll(6) {
			m.own = append(m.own, fmt.Sprintf("%c%d-%d", "fp"[d.roll(8)/7], i, k))
		}
		if d.roll(16) == 15 && len(imported) > 0 {
			m.own, m.fine = append(m.own, imported[d.roll(len(imported))]), false
		}
		if len(imported) > 0 && d.roll(2) == 1 {
			text += "transformerOverrides:\n"
			for range 1 + d.roll(3) {
				text += entry(imported[d.roll(len(imported))], fmt.Sprint("over", i))
			}
		}
		if len(m.own) > 0 {
			text += "transformers:\n"
			for _, name := range m.own {
				text += entry(name, fmt.Sprint("v", i))
			}
		}
		text += tr.order(d, m, imported)
		if err := tr.fsys.WriteFile(dirOf(i)+"/composition.yaml", []byte(text)); err != nil {
			panic(err)
		}
	}
	return tr
}

// imports writes what a Composition imports: of those that are there already, or now and
// then of any.
func (tr *tree) imports(d *dice, i int) string {
	m, text := &tr.files[i], ""
	for range 1 + d.roll(3) {
		j := i + 1 + d.roll(len(tr.files)-i-1)
		if d.roll(32) == 31 {
			j, m.fine = d.roll(len(tr.files)), false
		}
		if j >= len(tr.files) {
			continue
		}
		path := fmt.Sprintf("../f%d", j)
		switch {
		case i == 0:
			path = fmt.Sprintf("f%d", j)
		case j == 0:
			path = ".."
		}
		mode := "prepend"
		if d.roll(2) == 1 {
			mode = "append"
			m.after = append(m.after, tr.list(j))
		} else {
			m.before = append(m.before, tr.list(j))
		}
		m.fine = m.fine && tr.files[j].fine
		text += fmt.Sprintf("- {path: %s, importMode: %s}\n", path, mode)
	}
	if text == "" {
		return ""
	}
	return "transformersFrom:\n" + text
}

// order writes an order for all that there is, and now and then forgets one.
func (tr *tree) order(d *dice, m *made, imported []string) string {
	if d.roll(3) != 2 {
		return ""
	}
	for _, name := range append(slices.Clone(m.own), imported...) {
		if !slices.Contains(m.order, name) {
			m.order = slices.Insert(m.order, d.roll(len(m.order)+1), name)
		}
	}
	if len(m.order) == 0 {
		return ""
	}
	written := m.order
	if d.roll(16) == 15 {
		written, m.fine = written[1:], false
	}
	text := "transformerOrder:\n"
	for _, name := range written {
		text += "- name: " + name + "\n"
	}
	return text
}

// outcome is all that can be seen of a Composition that is loaded.
func (tr *tree) outcome() (order []string, all string, err error) {
	tgt, err := pipeline.Load(context.Background(), tr.fsys, "/t", pipeline.Options{LoadAnywhere: true})
	if err != nil {
		return nil, "error: " + err.Error(), err
	}
	for _, s := range tgt.Steps() {
		all += fmt.Sprintf("%s %s %v %s\n", s.Where, s.Name, s.Overridden(), s.Config.MustString())
	}
	c, err := pipeline.Consolidate(context.Background(), tr.fsys, "/t", pipeline.Options{LoadAnywhere: true})
	if err != nil {
		return nil, "error: " + err.Error(), fmt.Errorf("it can be loaded and not consolidated: %w", err)
	}
	for _, one := range c.Transformers {
		order = append(order, one.Name)
	}
	out, err := c.YAML()
	return order, all + string(out), err
}

// precedes tells whether one name stands before another.
func precedes(order []string, a, b string) bool {
	return slices.Index(order, a) < slices.Index(order, b)
}

// check says what of a tree its root has not kept.
func (m made) check(order []string) error {
	want := map[string]bool{}
	for _, name := range slices.Concat(append(append(slices.Clone(m.before), m.after...), m.own)...) {
		want[name] = true
	}
	row := slices.Concat(append(append(slices.Clone(m.before), m.own), m.after...)...)
	if len(row) == len(want) && len(m.order) == 0 && !slices.Equal(row, order) {
		return fmt.Errorf("nothing comes by two ways, and the order is not %v", row)
	}
	seen := map[string]bool{}
	for _, name := range order {
		if seen[name] || !want[name] {
			return fmt.Errorf("%s is there twice, or nobody asked for it", name)
		}
		seen[name] = true
	}
	if len(seen) != len(want) {
		return fmt.Errorf("%d transformers, %d were asked for", len(seen), len(want))
	}
	if len(m.order) > 0 {
		if !slices.Equal(m.order, order) {
			return fmt.Errorf("the order is not the one that was asked for: %v", m.order)
		}
		return nil
	}
	for _, list := range append(append(slices.Clone(m.before), m.after...), m.own) {
		for i := 1; i < len(list); i++ {
			if !precedes(order, list[i-1], list[i]) {
				return fmt.Errorf("%s was before %s in %v", list[i-1], list[i], list)
			}
		}
	}
	for _, own := range m.own {
		for _, name := range slices.Concat(m.before...) {
			if !precedes(order, name, own) {
				return fmt.Errorf("%s is prepended, and comes after %s", name, own)
			}
		}
		for _, name := range slices.Concat(m.after...) {
			if !precedes(order, own, name) {
				return fmt.Errorf("%s is appended, and comes before %s", name, own)
			}
		}
	}
	return nil
}

// FuzzConsolidate makes trees of Compositions. What comes out does not depend on anything
// but the files, names every transformer once, and keeps the order of every import.
func FuzzConsolidate(f *testing.F) {
	for i := range 40 { // many different trees, the same each time
		seed := make([]byte, 120)
		x := uint32(i)*2654435761 + 1
		for j := range seed {
			x = x*1664525 + 1013904223
			seed[j] = byte(x >> 24)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tr := grow(&dice{data})
		order, first, err := tr.outcome()
		for range 2 {
			if _, again, _ := tr.outcome(); again != first {
				t.Fatalf("not the same twice: %s", cmp.Diff(first, again))
			}
		}
		if err != nil {
			if !strings.Contains(err.Error(), "composition.yaml") {
				t.Errorf("an error that does not say where: %v", err)
			}
			return
		}
		if err := tr.files[0].check(order); err != nil && tr.files[0].fine {
			t.Errorf("%v in %v", err, order)
		}
	})
}

// TestConsolidateMakesTrees looks whether the trees of the fuzz test are good for anything.
func TestConsolidateMakesTrees(t *testing.T) {
	t.Parallel()
	good, bad, long := 0, map[string]int{}, 0
	for i := range 150 {
		data := make([]byte, 120)
		x := uint32(i)*2654435761 + 7
		for j := range data {
			x = x*1664525 + 1013904223
			data[j] = byte(x >> 24)
		}
		tr := grow(&dice{data})
		order, _, err := tr.outcome()
		if err != nil {
			for _, why := range []string{"cycle", "different orders", "stands twice", "not the same", "leaves out"} {
				if strings.Contains(err.Error(), why) {
					bad[why]++
				}
			}
			continue
		}
		good++
		if len(order) > 5 {
			long++
		}
	}
	t.Log(good, long, bad)
	if good < 50 || long < 25 || len(bad) < 5 {
		t.Errorf("%d of 150 trees can be consolidated, %d have more than five transformers; refused are %v", good, long, bad)
	}
}
