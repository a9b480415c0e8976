// Command kyaml reads a ResourceList from a file, and parses and prints it ten times. This is the
// least that ten functions cost that each parse and print their input.
package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const times = 10

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(data)
	for range times {
		list, err := yaml.Parse(text)
		if err != nil {
			return err
		}
		if text, err = list.String(); err != nil {
			return err
		}
	}
	return nil
}
