package pipeline

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// validatedBy is the label a validator may leave behind, in kustomize.
const validatedBy = "validated-by"

// validate runs a validator on a copy. It may return nothing or less than it was given; a
// resource that comes back different is an error.
func (a *applied) validate(step Step, items []*yaml.RNode, apply func([]*yaml.RNode) ([]*yaml.RNode, error)) error {
	given := make(map[resourceID]string, len(items))
	copies := make([]*yaml.RNode, len(items))
	for j, item := range items {
		if err := (document{file: "a resource", node: item.YNode()}).wellFormed(); err != nil {
			return stepError(step, err.Error())
		}
		text, err := unchanging(item)
		if err != nil {
			return stepError(step, err.Error())
		}
		given[idOf(item)] = text
		copies[j] = item.Copy()
	}
	out, err := apply(copies)
	if err != nil {
		return err
	}
	for _, n := range out {
		if err := (document{file: "what it returned", node: n.YNode()}).wellFormed(); err != nil {
			return stepError(step, err.Error())
		}
		before, known := given[idOf(n)]
		if !known {
			return stepError(step, fmt.Sprintf("a validator must not add resources, it returned %s", idOf(n)))
		}
		text, err := unchanging(n)
		if err != nil {
			return stepError(step, err.Error())
		}
		if text != before {
			return stepError(step, fmt.Sprintf("a validator must not change resources, it changed %s", idOf(n)))
		}
	}
	return nil
}

// unchanging prints what a validator must leave alone: everything but the annotations
// that orchestrators write, and the label that kustomize allows.
func unchanging(n *yaml.RNode) (string, error) {
	c := n.Copy()
	if err := clean(c, orchestration); err != nil {
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
