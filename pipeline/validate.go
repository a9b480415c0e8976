package pipeline

import (
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// validatedBy is the label that a validator may add, as in kustomize.
const validatedBy = "validated-by"

// validate runs a validator on a copy of the resources. It may return fewer of them, or none. A
// changed or added resource is an error.
func (a *applied) validate(step Step, items []*yaml.RNode, apply func([]*yaml.RNode) ([]*yaml.RNode, error)) error {
	given := make(map[resource.ID][]string, len(items)) // resources in files may share an id
	copies := make([]*yaml.RNode, len(items))
	for j, item := range items {
		if err := (source.Document{File: "a resource", Node: item.YNode()}).WellFormed(); err != nil {
			return stepError(step, err.Error())
		}
		text, err := unchanging(item)
		if err != nil {
			return stepError(step, err.Error())
		}
		given[resource.IDOf(item)] = append(given[resource.IDOf(item)], text)
		copies[j] = item.Copy()
	}
	out, err := apply(copies)
	if err != nil {
		return err
	}
	for _, n := range out {
		if err := (source.Document{File: "what it returned", Node: n.YNode()}).WellFormed(); err != nil {
			return stepError(step, err.Error())
		}
		before, known := given[resource.IDOf(n)]
		if !known {
			return stepError(step, fmt.Sprintf("a validator must not add resources, it returned %s", resource.IDOf(n)))
		}
		text, err := unchanging(n)
		if err != nil {
			return stepError(step, err.Error())
		}
		if !slices.Contains(before, text) {
			return stepError(step, fmt.Sprintf("a validator must not change resources, it changed %s", resource.IDOf(n)))
		}
	}
	return nil
}

// unchanging prints the parts of a resource that a validator must not change: all but the
// annotations of orchestrators and the label that kustomize allows.
func unchanging(n *yaml.RNode) (string, error) {
	c := n.Copy()
	if err := resource.Clean(c, resource.Orchestration); err != nil {
		return "", err
	}
	labels := c.GetLabels()
	delete(labels, validatedBy)
	if err := c.SetLabels(labels); err != nil {
		return "", fmt.Errorf("reading its labels: %w", err)
	}
	j, err := c.MarshalJSON()
	return string(j), err
}
