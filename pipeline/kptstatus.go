package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline/internal/kptfile"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
)

// KptCall is a call of a function, for the status of its package.
type KptCall struct {
	Step    int    // the index of its Step
	Refusal string // why it was not called, or its output was not used; "" for none
	Stderr  string
	Exit    int // -1 if a signal ended it
	Results []KptResult
}

// KptResult is a result of a function.
type KptResult = kptfile.Result

// WriteStatus writes what a render did into the Kptfile of the package among resources. failed is
// nil if it succeeded. It reports whether there is a Kptfile that can have a status: one that is
// invalid, or of a version without one, stays as it is.
func (p *KptPackage) WriteStatus(items []*yaml.RNode, calls []KptCall, failed error) (bool, error) {
	i := slices.IndexFunc(items, func(n *yaml.RNode) bool {
		return resource.FileOf(n).Path == kptfile.Name && resource.NameOf(n).Kind == kptfile.Kind
	})
	root := p.all[""]
	if i < 0 || p.invalid || root == nil || root.says == nil || root.says.APIVersion != kptfile.V1 {
		return false, nil
	}
	s := kptfile.Status{Failed: failed != nil}
	if failed != nil {
		s.Message = p.plain(failed.Error())
	}
	for _, c := range calls {
		f := p.of[c.Step]
		called := kptfile.Called{
			Name: f.Name, Image: f.FullImage(p.options.ImagePrefix), Command: f.Command, Refusal: p.plain(c.Refusal),
			Stderr: c.Stderr, ExitCode: c.Exit, Results: c.Results,
		}
		if f.Image == "" {
			called.Image = ""
		}
		if p.steps[c.Step].Role == Validator {
			s.Validators = append(s.Validators, called)
		} else {
			s.Mutations = append(s.Mutations, called)
		}
	}
	if err := s.Write(items[i].YNode()); err != nil {
		return false, failure.Unexpected.Mark(fmt.Errorf("writing the status: %w", err))
	}
	return true, nil
}

// plain writes a message without the place of the package, which differs between machines.
func (p *KptPackage) plain(text string) string {
	return strings.TrimRight(strings.ReplaceAll(text, p.options.Dir, "."), "\n")
}
