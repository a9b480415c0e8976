package yamldoc_test

import (
	"testing"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

func TestTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-01-31":                "2026-01-31T00:00:00Z",
		"'2026-01-31'":              "2026-01-31T00:00:00Z",
		"2026-01-31T12:30:00+02:00": "2026-01-31T10:30:00Z",
		"2026-01-31 12:30:00":       "",
		"2026-1-31":                 "",
		"31.1.2026":                 "",
		"2026":                      "",
		"[2026-01-31]":              "",
		"2026-02-29":                "",
	} {
		s := yamldoc.NewSpec(yaml.MustParse("t: "+text), "")
		got, whole := s.Get("t").Time()
		if want == "" {
			if s.Err() == nil {
				t.Errorf("%s is %s", text, got)
			}
			continue
		}
		if s.Err() != nil || got.Format(time.RFC3339) != want || whole != (len(text) < 13) {
			t.Errorf("%s: %s, a whole day %v, %v", text, got, whole, s.Err())
		}
	}
	s := yamldoc.NewSpec(yaml.MustParse("{}"), "")
	if got, whole := s.Get("t").Time(); s.Err() != nil || !got.IsZero() || whole {
		t.Error(got, whole, s.Err())
	}
}
