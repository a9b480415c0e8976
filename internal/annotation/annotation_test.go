package annotation_test

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/annotation"
)

// The rule of kyaml for resources without a path. A name never leads out of the directory.
func TestDefaultPath(t *testing.T) {
	t.Parallel()
	for resource, want := range map[string]string{
		"{kind: ConfigMap, metadata: {name: a}}":                           "configmap_a.yaml",
		"{kind: ConfigMap, metadata: {name: a, namespace: ns}}":            "ns/configmap_a.yaml",
		"{kind: ../Secret, metadata: {name: ../../x, namespace: ..}}":      "__/.._secret_.._.._x.yaml",
		"{kind: Role, metadata: {name: 'system:read', namespace: 'a\\b'}}": "a_b/role_system_read.yaml",
		"{kind: List}": "list_.yaml",
	} {
		if got := annotation.DefaultPath(yaml.MustParse(resource).YNode()); got != want {
			t.Errorf("%s: got %s, want %s", resource, got, want)
		}
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, out string
		was, set      annotation.File
	}{
		{"new", "kind: A\n", "kind: A\nmetadata:\n  annotations:\n    internal.config.kubernetes.io/path: 'a.yaml'\n    internal.config.kubernetes.io/index: '1'\n",
			annotation.File{}, annotation.File{Path: "a.yaml", Index: "1"}},
		{"none", "kind: A\nmetadata:\n  name: a\n", "kind: A\nmetadata:\n  name: a\n", annotation.File{}, annotation.File{}},
		{"legacy", "metadata:\n  annotations:\n    b: c\n    config.kubernetes.io/path: old.yaml\n    config.kubernetes.io/index: \"2\"\n",
			"metadata:\n  annotations:\n    b: c\n    internal.config.kubernetes.io/path: 'new.yaml'\n",
			annotation.File{Path: "old.yaml", Index: "2"}, annotation.File{Path: "new.yaml"}},
		{"the current name counts", "metadata:\n  annotations:\n    internal.config.kubernetes.io/path: now.yaml\n    config.kubernetes.io/path: old.yaml\n",
			"metadata: {}\n", annotation.File{Path: "now.yaml"}, annotation.File{}},
		{"others stay", "metadata:\n  annotations:\n    a: b\n    config.kubernetes.io/path: x\n", "metadata:\n  annotations:\n    a: b\n",
			annotation.File{Path: "x"}, annotation.File{}},
		{"empty", "metadata: {annotations: {}}\n", "metadata: {annotations: {}}\n", annotation.File{}, annotation.File{}},
		{"no mapping", "metadata: text\n", "metadata: text\n", annotation.File{}, annotation.File{Path: "a.yaml"}},
	}
	for _, tt := range tests {
		n := yaml.MustParse(tt.in)
		if got := annotation.FileOf(n.YNode()); got != tt.was {
			t.Errorf("%s: read %v", tt.name, got)
		}
		annotation.SetFile(n.YNode(), tt.set)
		if got := n.MustString(); got != tt.out {
			t.Errorf("%s: wrote\n%s", tt.name, got)
		}
		if got := annotation.FileOf(n.YNode()); got != tt.set && tt.in != tt.out {
			t.Errorf("%s: reads %v", tt.name, got)
		}
	}
}
