package fnexec

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Record describes one call of a function for a results file.
type Record struct {
	Kind    string // the runtime: container, exec, starlark
	Program string // the image, the path or the reference
	Output  Output
	Failed  bool // it failed for another reason than its exit code
}

// FunctionResultList returns the content of kpt's results.yaml: every call of a run, in order.
// failed means that the run failed, even if no call did.
func FunctionResultList(records []Record, failed bool) ([]byte, error) {
	type meta struct {
		Name string `yaml:"name"`
	}
	list := struct {
		APIVersion string           `yaml:"apiVersion"`
		Kind       string           `yaml:"kind"`
		Metadata   meta             `yaml:"metadata"`
		ExitCode   int              `yaml:"exitCode"`
		Items      []map[string]any `yaml:"items,omitempty"`
	}{APIVersion: "kpt.dev/v1", Kind: "FunctionResultList", Metadata: meta{"fnresults"}}
	if failed {
		list.ExitCode = 1
	}
	for _, r := range records {
		code := r.Output.Exit
		if code == 0 && r.Failed {
			code = 1
		}
		if code != 0 {
			list.ExitCode = 1
		}
		item := map[string]any{recordKey(r.Kind): r.Program, "exitCode": code}
		if r.Output.Stderr != "" {
			item["stderr"] = r.Output.Stderr
		}
		if len(r.Output.Results) > 0 {
			item["results"] = r.Output.Results
		}
		list.Items = append(list.Items, item)
	}
	data, err := yaml.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("writing the results: %w", err)
	}
	return data, nil
}

// recordKey returns the field for the program in kpt's format.
func recordKey(kind string) string {
	if kind == "container" || kind == "" {
		return "image"
	}
	return kind
}

// ResultsFile returns the content of kyaml's results-<N>.yaml: the results of one call, as a list.
// It is nil without results: kyaml writes no file then.
func ResultsFile(results []Result) ([]byte, error) {
	if len(results) == 0 {
		return nil, nil
	}
	data, err := yaml.Marshal(results)
	if err != nil {
		return nil, fmt.Errorf("writing the results: %w", err)
	}
	return data, nil
}
