package selector_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/selector"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {app: web, tier: front, empty: ""}
  annotations: {owner: team-a}
`

// decode reads the two lists from YAML.
func decode(t *testing.T, text string) (selector.Selection, error) {
	t.Helper()
	n, err := yamldoc.One([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	ps := yamldoc.Problems{File: "f.yaml"}
	s := selector.Decode(ps.Read(n))
	return s, ps.Err()
}

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		selectors string
		want      bool
	}{
		{`{}`, true},
		{`{selectors: []}`, true},
		{`{selectors: [{}]}`, true},
		{`{exclude: [{}]}`, true}, // as in kpt
		{`{selectors: [{kind: Deployment}]}`, true},
		{`{selectors: [{kind: deployment}]}`, false},
		{`{selectors: [{kind: Deploy.*}]}`, false},
		{`{selectors: [{apiVersion: apps/v1}]}`, true},
		{`{selectors: [{apiVersion: apps}]}`, false},
		{`{selectors: [{name: web, namespace: shop}]}`, true},
		{`{selectors: [{name: web, namespace: default}]}`, false},
		{`{selectors: [{kind: Service}, {name: web}]}`, true},
		{`{selectors: [{kind: Service, name: web}]}`, false},
		{`{selectors: [{labels: {app: web, tier: front}}]}`, true},
		{`{selectors: [{labels: {app: web, tier: back}}]}`, false},
		{`{selectors: [{labels: {empty: ""}}]}`, true},
		{`{selectors: [{labels: {missing: ""}}]}`, false},
		{`{selectors: [{annotations: {owner: team-a}}]}`, true},
		{`{exclude: [{kind: Service}]}`, true},
		{`{exclude: [{kind: Deployment}]}`, false},
		{`{exclude: [{kind: Deployment, name: other}]}`, true},
		{`{selectors: [{kind: Deployment}], exclude: [{kind: Service}, {name: web}]}`, false},
	}
	item := yaml.MustParse(deployment)
	for _, tt := range tests {
		s, err := decode(t, tt.selectors)
		if err != nil {
			t.Errorf("%s: %v", tt.selectors, err)
		}
		if got := s.Match(item); got != tt.want {
			t.Errorf("%s: got %v", tt.selectors, got)
		}
	}
}

// Matching does not fail on items that are no resources.
func TestMatchOdd(t *testing.T) {
	t.Parallel()
	s := selector.Selection{Selectors: []selector.Selector{{Name: "web", Labels: map[string]string{"a": "b"}}}}
	for _, text := range []string{"{}", "[a]", "{metadata: text}", "{metadata: {name: [web], labels: text}}"} {
		if s.Match(yaml.MustParse(text)) {
			t.Errorf("%s matches", text)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{`{selectors: [{kinds: Deployment}]}`, `unknown field "kinds", did you mean "kind"?`},
		{`{selectors: {kind: Deployment}}`, "selectors: must be a list"},
		{`{selectors: [Deployment]}`, "selectors[0]: must be a mapping"},
		{`{selectors: [{kind: }]}`, "it has no value"},
		{`{selectors: [null]}`, "{} matches everything"},
		{`{exclude: [{labels: [a]}]}`, "exclude[0].labels: must be a mapping"},
		{`{exclude: [{labels: {a: true}}]}`, "quote it"},
		{`{exclude: [{labels: {a: }}]}`, "it has no value"},
		{`{exclude: [{name: 7}]}`, "quote it"},
		{`{selectors: [` + strings.Repeat(`{},`, 1001) + `]}`, "1001 selectors, the limit is 1000"},
	}
	for _, tt := range tests {
		if _, err := decode(t, tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60s: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

// What Value writes is read as the same selection.
func TestValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`,
		`{selectors: [{apiVersion: v1, kind: K, name: n, namespace: s, labels: {a: "1"}, annotations: {b: ""}}]}`,
		`{selectors: [{kind: A}, {}], exclude: [{name: "true"}]}`,
	} {
		s, err := decode(t, text)
		if err != nil {
			t.Fatal(err)
		}
		written, err := yaml.Marshal(s.Value())
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(t, "{}\n")
		if s.Value() != nil {
			again, err = decode(t, string(written))
		}
		if diff := cmp.Diff(s, again); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}

// FuzzDecode: what is read without an error can be written and read again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"selectors: [{kind: A, labels: {a: b}}]\nexclude: [{name: x}]\n", "selectors: [[]]\n", "exclude: {a: b}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := yamldoc.One([]byte(text))
		if err != nil || n == nil {
			return
		}
		ps := yamldoc.Problems{File: "f"}
		s := selector.Decode(ps.Read(n))
		if ps.Err() != nil {
			return
		}
		written, err := yaml.Marshal(s.Value())
		if err != nil {
			t.Fatal(err)
		}
		again, err := yamldoc.One(written)
		if err != nil {
			t.Fatal(err)
		}
		ps = yamldoc.Problems{File: "f"}
		if got := selector.Decode(ps.Read(again)); ps.Err() != nil || len(got.Selectors) != len(s.Selectors) || len(got.Exclude) != len(s.Exclude) {
			t.Errorf("%q becomes %q: %v", text, written, ps.Err())
		}
	})
}
