// Command memory-limit is the exec function of the demo: it gives every container of a
// Deployment that has no memory limit the one of its functionConfig.
package main

import (
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

// config is the functionConfig: apiVersion demo.krmcat.dev/v1, kind MemoryLimit.
type config struct {
	Spec struct {
		Limit string `json:"limit"`
	} `json:"spec"`
}

// list is what comes in on stdin and goes out on stdout.
type list struct {
	APIVersion     string           `json:"apiVersion"`
	Kind           string           `json:"kind"`
	Items          []map[string]any `json:"items"`
	FunctionConfig config           `json:"functionConfig"`
	Results        []result         `json:"results,omitempty"`
}

type result struct {
	Message  string `json:"message"`
	Severity string `json:"severity"`
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("reading the resource list: %w", err)
	}
	var l list
	if err := yaml.Unmarshal(data, &l); err != nil {
		return fmt.Errorf("reading the resource list: %w", err)
	}
	for _, item := range l.Items {
		if item["kind"] == "Deployment" {
			limit(item, l.FunctionConfig.Spec.Limit)
		}
	}
	data, err = yaml.Marshal(map[string]any{
		"apiVersion": l.APIVersion, "kind": l.Kind, "items": l.Items, "results": l.Results,
	})
	if err != nil {
		return fmt.Errorf("writing the resource list: %w", err)
	}
	_, err = out.Write(data)
	return err
}

func limit(deployment map[string]any, memory string) {
	containers, _ := child(child(child(deployment, "spec"), "template"), "spec")["containers"].([]any)
	for _, c := range containers {
		container, ok := c.(map[string]any)
		if !ok {
			continue
		}
		if limits := child(child(container, "resources"), "limits"); limits["memory"] == nil {
			limits["memory"] = memory
		}
	}
}

// child is a mapping inside a mapping, made where it is missing.
func child(m map[string]any, name string) map[string]any {
	c, ok := m[name].(map[string]any)
	if !ok {
		c = map[string]any{}
		m[name] = c
	}
	return c
}
